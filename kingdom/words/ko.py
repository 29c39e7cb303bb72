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
    # What the chamberlain says.
    "chamberlain_dead": "dead/에 있는 {count}개를 {day} 이후에 지웁니다. "
    "보려면: kingdom queue ls --state dead",
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
    # What the chamberlain found in the events log.
    "chamberlain_failures": "{general} 장군이 {count}번 연달아 실패했습니다. 마지막 실패: {error} "
    "자세히 보려면: kingdom logs {general}",
    "chamberlain_failures_over": "{general} 장군이 다시 작업을 마쳤습니다.",
    "chamberlain_timeouts": "한 시간 안에 병사 {count}명이 제한 시간을 넘겨 당분간 급한 일만 "
    "받습니다. 자세히 보려면: kingdom top",
    "chamberlain_timeouts_over": "제한 시간을 넘기는 병사가 더는 없습니다.",
    "chamberlain_undispatched_alive": "왕이 살아 있는데도 {event} 이벤트를 30분 동안 처리하지 "
    "않았습니다(모두 {count}건). 이유를 보려면: kingdom why {event}",
    "chamberlain_undispatched_silent": "왕이 {event} 이벤트를 30분 동안 처리하지 않았고(모두 "
    "{count}건) 살아 있다는 신호도 없습니다. 다시 시작하려면: kingdom restart king",
    "chamberlain_undispatched_absent": "{event} 이벤트를 30분 동안 아무도 처리하지 "
    "않았습니다(모두 {count}건). 왕이 실행되고 있지 않습니다. 시작하려면: kingdom start",
    "chamberlain_undispatched_over": "왕을 기다리는 이벤트가 더는 없습니다.",
    "chamberlain_deferred": "{event} 이벤트가 30분째 기다립니다(모두 {count}건). 까닭: {reason} "
    "자세히 보려면: kingdom why {event}",
    "chamberlain_deferred_over": "그렇게 오래 기다리는 이벤트가 더는 없습니다.",
    # What the chamberlain says of the budget.
    "chamberlain_budget_warning": "오늘 예산 ${budget} 가운데 ${cost}를 써서 급한 일만 받습니다. "
    "자세히 보려면: kingdom budget",
    "chamberlain_budget_critical": "오늘 예산 ${budget} 가운데 ${cost}를 써서 자정까지 일을 받지 "
    "않습니다. 지금 이어서 하려면 chamberlain.yaml 파일의 token_limits.daily_budget_usd 값을 "
    "올리십시오.",
    "chamberlain_budget_unpriced": "그 밖에 값을 알 수 없는 시도가 {count}번 있습니다.",
    "chamberlain_budget_unknown": "오늘의 시도 {count}번 모두 값을 알 수 없어 예산을 지킬 수 "
    "없습니다. 자세히 보려면: kingdom budget",
    "chamberlain_budget_over": "예산 안에서 다시 일을 받습니다(오늘 쓴 비용: ${cost}).",
    "chamberlain_budget_known": "값을 다시 알 수 있습니다(오늘 쓴 비용: ${cost}).",
    # What a report says.
    "chamberlain_report_day": "{date} 보고",
    "chamberlain_report_week": "{since}부터 {until}까지 한 주의 보고",
    "chamberlain_report_tasks": "작업: 생성 {created}, 완료 {completed}, 실패 {failed}, 질문 "
    "{needs_human}",
    "chamberlain_report_soldiers": "병사: 출동 {spawned}, 시간 초과 {timeout}",
    "chamberlain_report_general": "{general}: 완료 {count}, 평균 {mean}, 95 %는 {most} 안에",
    "chamberlain_report_cost": "비용: ${usd} (시도 {attempts}번)",
    "chamberlain_report_unpriced": "시도 {count}번은 값을 알 수 없어, 실제 비용은 이보다 많습니다.",
    "chamberlain_report_dearest": "가장 비싼 작업: {general} 장군의 {task} (${usd})",
    "chamberlain_report_failures": "작업이 실패한 까닭: {listed}",
    "chamberlain_report_failures_in_a_row": "{subject} 장군이 세 번 연달아 실패 ({since} – "
    "{until})",
    "chamberlain_report_timeouts": "많은 병사가 시간을 초과 ({since} – {until})",
    "chamberlain_report_undispatched": "이벤트가 왕을 기다림 ({since} – {until})",
    "chamberlain_report_deferred": "이벤트가 오래 기다림 ({since} – {until})",
    "chamberlain_report_health": "{at} 건강 상태가 {before}에서 {after}(으)로 바뀜 ({reason})",
    "chamberlain_report_dead": "처리할 수 없는 것: {count}건. 보려면: kingdom queue ls --state "
    "dead",
    "chamberlain_report_chart": "지난 {days}일: 완료 {completed}  비용 {cost}",
}

FAILURES: dict[str, tuple[str, str]] = {**OF_TASKS, **OF_SERVICES, **OF_GROUND}
