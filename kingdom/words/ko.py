"""Korean."""

from kingdom.words.korean.ground import OF_GROUND
from kingdom.words.korean.services import OF_SERVICES
from kingdom.words.korean.tasks import OF_TASKS

SENTENCES: dict[str, str] = {
    # What the envoy adds to a message.
    "envoy_urgent": "긴급",
    "envoy_high": "중요",
    "envoy_no_text": "(내용 없음)",
    "envoy_question": "질문: {question}",
    "envoy_default": "답이 없으면 다음으로 합니다: {default}",
    "envoy_default_until": "{moment}까지 답이 없으면 다음으로 합니다: {default}",
    "envoy_answer": "답하려면: kingdom answer {task_id} {form}",
    "envoy_answer_here": "이 스레드에서 답하거나 다음 명령으로 답하세요: kingdom answer {task_id}",
    "envoy_choose_here": (
        "하나를 고르거나, 이 스레드에서 또는 다음 명령으로 답하세요: kingdom answer {task_id}"
    ),
    "envoy_attached": "전체 내용은 첨부 파일에 있습니다({characters}자).",
    "envoy_trial": "연결을 확인하는 메시지이며 곧 지워집니다.",
    "envoy_part": "{of}개 중 {number}번째",
    "envoy_answer_form": '"답"',
    # What the king says of a task.
    "king_started": "{general}, {task} 작업을 맡습니다 ({type})",
    "king_retried": "{general}, {original} 작업을 {task}(으)로 다시 시도합니다",
    "king_success": "완료했습니다. {summary}",
    "king_skipped": "하지 않았습니다: {reason}",
    "king_failed": "{task} 실패 ({code}): {error}",
    "king_no_report": "대기열에서 빠져 더 이상 보고가 없습니다.",
    "king_resumed": "{who}의 답: {answer}\n{general}, {task}(으)로 이어갑니다.",
    "king_defaulted": "{moment}까지 아무도 답하지 않아 기본값으로 정했습니다: {answer}\n"
    "{general}, {task}(으)로 이어갑니다.",
    "king_refused_answer": "답을 받지 않았습니다: {reason}",
    "king_watcher_trouble": "{watcher} 감시자가 지금 아무것도 보지 못합니다. {said}",
    "king_watcher_ok": "{watcher} 감시자가 다시 보고 있습니다.",
    "king_notice": "{task} ({general}, {status}): {text}",
    "king_status_success": "성공",
    "king_status_failed": "실패",
    "king_status_killed": "강제 종료",
    "king_status_skipped": "건너뜀",
    "king_status_needs_human": "답 필요",
    # Why the king does not take an answer, or do what a command asks.
    "king_no_task": "{task}(이)라는 작업이 없습니다.",
    "king_no_question": "{task}에는 질문이 없었습니다.",
    "king_answered_already": "{task}의 질문에는 이미 답이 있습니다.",
    "king_not_installed": "{task} 작업을 맡은 {general}이(가) 설치되어 있지 않습니다.",
    # What a general says of a soldier at work.
    "general_working": "{general}, 작업 중입니다 ({span}): {doing}",
    "general_working_again": "{general}, {attempt}번째 시도로 작업 중입니다 ({span}): {doing}",
    # What the chamberlain alerts people to.
    "chamberlain_health_red": "상태가 red입니다({reason}). 새 작업을 받지 않습니다. "
    "무엇이 쓰고 있는지 보려면: kingdom top",
    "chamberlain_health_over": "상태가 이제 red가 아니라 {health}입니다.",
    "chamberlain_disk_full": "{place} 디스크가 {percent} % 찼습니다. 새 작업을 받지 않습니다. "
    "공간을 비워 주십시오.",
    "chamberlain_disk_room": "{place} 디스크에 다시 공간이 있습니다({percent} % 사용).",
    "chamberlain_hung_warden_kept": "{role}, {seconds}초 동안 응답이 없어 끝냅니다. "
    "warden가 다시 시작합니다.",
    "chamberlain_hung_systemd_kept": "{role}, {seconds}초 동안 응답이 없어 끝냅니다. "
    "systemd가 다시 시작합니다.",
    "chamberlain_hung_alone": "{role}, {seconds}초 동안 응답이 없어 끝냅니다. "
    "저절로 다시 시작되지 않습니다. 시작하려면: kingdom run {role}",
    "chamberlain_hung_warden": "{role}, {seconds}초 동안 응답이 없습니다. 죽은 역할이 다시 "
    "시작되지 않습니다. 모두 새로 시작하려면: kingdom restart",
    "chamberlain_hung_over": "{role}, 다시 응답합니다.",
    "chamberlain_abandoned": "{general}, 실행 중이 아닌데 진행 중인 작업이 기다립니다"
    "({count}개, 예: {task}). 시작하려면: kingdom start, 작업을 끝내려면: kingdom cancel TASK",
    "chamberlain_abandoned_over": "{general}을(를) 헛되이 기다리는 작업이 더는 없습니다.",
}

FAILURES: dict[str, tuple[str, str]] = {**OF_TASKS, **OF_SERVICES, **OF_GROUND}
