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
    "envoy_answered": "{who}님이 답했습니다: {answer}",
    "envoy_defaulted": "제때 답이 없어 다음으로 정했습니다: {answer}",
    "envoy_withdrawn": "이 질문에는 더 이상 답하지 않아도 됩니다.",
    "envoy_may_not_answer": (
        "감사합니다만, 이 왕국의 설정에 이름이 있는 사람만 여기서 답할 수 있습니다."
    ),
    "envoy_answered_already": "감사합니다. 이 질문에는 이미 답이 있습니다.",
    "envoy_not_an_option": "고를 수 있는 답이 아닙니다. 다음 중에서 고르세요: {options}",
    "envoy_no_answer": "답에는 글이 필요합니다. 이 스레드에 적어 주세요.",
    "envoy_old_button": "이 버튼은 더 이상 묻지 않는 질문의 것입니다.",
    "envoy_nothing_asked": (
        "지금 이 스레드에서 묻는 것은 없습니다. 새 일은 저를 언급하거나 직접 메시지로 알려 주세요."
    ),
    "envoy_attached": "전체 내용은 첨부 파일에 있습니다({characters}자).",
    "envoy_trial": "연결을 확인하는 메시지이며 곧 지워집니다.",
    "envoy_part": "{of}개 중 {number}번째",
    "envoy_daily_report": "일일 보고, {date}",
    "envoy_report_tasks": "작업: 시작 {created}, 완료 {completed}, 실패 {failed}, "
    "답 대기 {needs_human}",
    "envoy_report_soldiers": "병사: 시작 {spawned}, 시간 초과 {timeout}",
    "envoy_report_times": "평균 시간: {times}",
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
    "king_reminder": "이 질문이 {span} 동안 답을 기다리고 있습니다: {question}\n"
    "답하거나 다음 명령을 쓰십시오: kingdom answer {task}",
    "king_parked": "{span} 동안 아무도 답하지 않아 이 질문을 보류하고 더는 알리지 않습니다: "
    "{question}\n"
    "지금도 답할 수 있습니다: kingdom answer {task}",
    "king_refused_answer": "답을 받지 않았습니다: {reason}",
    "king_watcher_trouble": "{watcher} 감시자가 지금 아무것도 보지 못합니다. {said}",
    "king_watcher_ok": "{watcher} 감시자가 다시 보고 있습니다.",
    "king_notice": "{task} ({general}, {status}): {text}",
    "king_status_success": "성공",
    "king_status_failed": "실패",
    "king_status_killed": "강제 종료",
    "king_status_skipped": "건너뜀",
    "king_status_needs_human": "답 필요",
    # What the king says to people who write to the kingdom.
    "king_hello": "안녕하세요! 지금 상황은 이렇습니다:",
    "king_welcome": "천만에요!",
    "king_at_work": "진행 중 ({count}):",
    "king_queued": "다음 차례 ({count}):",
    "king_idle": "지금은 하고 있는 일이 없습니다.",
    "king_waiting": "들어오기를 기다리는 일: {count}",
    "king_questions": "답을 기다리는 질문 ({count}):",
    "king_and_more": "- 그 밖에 {count}건",
    "king_well": "모두 잘 돌아가고 있습니다.",
    "king_frozen": "왕국이 멈춰 있어 새 일을 시작하지 않습니다. 이어가려면: kingdom thaw",
    "king_no_engine": "새 일을 시작하지 않습니다: {reason}",
    "king_unwell": "기계가 바빠서(health: {health}) 새 일이 기다립니다.",
    "king_short_of_tokens": "오늘 예산이 {level} 수준이라 새 일이 기다립니다.",
    "king_nobody_hears": "여기에는 메시지에 답하는 장군이 없습니다. 맡길 장군의 이름으로 "
    "시작해 주십시오: {generals}",
    "king_routed": "{general}, {task}(으)로 이 일을 맡습니다.",
    "king_route_unknown": "{general}에게 맡길 일이지만 설치되어 있지 않습니다. 누가 있는지 보려면: "
    "kingdom general list",
    "king_route_again": "이미 한 번 넘겨진 일이라 {general}에게 다시 넘기지 않습니다. 맡길 장군의 "
    "이름으로 시작해 다시 말해 주십시오.",
    "king_route_not_yours": "구성원만 {general}에게 일을 맡길 수 있습니다.",
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
