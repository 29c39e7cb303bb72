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
    "envoy_crowded": (
        "다른 프로그램이 같은 Slack 앱으로 듣고 있어 답과 메시지 일부가 저에게 오지 않습니다. "
        "그것을 멈추거나 그쪽 앱을 따로 만들어 주세요: kingdom envoy manifest"
    ),
    "envoy_not_shown": "(비밀 값이 들어 있어 보이지 않습니다)",
    "envoy_attached": "전체 내용은 첨부 파일에 있습니다({characters}자).",
    "envoy_not_attached": "첨부하지 못했습니다. 다음 명령으로 읽으세요: kingdom queue show {id}",
    "envoy_trial": "연결을 확인하는 메시지이며 곧 지워집니다.",
    "envoy_part": "{of}개 중 {number}번째",
    "envoy_daily_report": "일일 보고, {date}",
    "envoy_report_tasks": "작업: 시작 {created}, 완료 {completed}, 실패 {failed}, "
    "답 대기 {needs_human}",
    "envoy_report_soldiers": "병사: 시작 {spawned}, 시간 초과 {timeout}",
    "envoy_report_times": "평균 시간: {times}",
    "envoy_answer_form": '"답"',
    # What a general asks before it does something outside, and what came of it.
    "general_asks_approval": "{place}: {actions} 승인을 요청합니다 ({trust}의 일).",
    "general_approval_cut": "줄여서 보였습니다. 전체 보기: kingdom ask {task}",
    "general_approve": "승인",
    "general_reject": "거부",
    "general_approved": "{who}이(가) 승인했습니다.",
    "general_rejected": "{who}이(가) 거부했습니다.",
    "general_not_approved": "기한 안에 아무도 승인하지 않았습니다.",
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
    "지금도 답할 수 있습니다. 답하거나 다음 명령을 쓰십시오: kingdom answer {task}",
    "king_held_message": "비밀 값이 들어 있을 수 있어 {id}을(를) 보내지 않았습니다. {reason}\n"
    "살펴보기: kingdom queue show {id}\n그대로 보내기: kingdom release {id}\n"
    "보내지 않기: kingdom queue drop {id}",
    "king_held_actions": "비밀 값이 들어 있을 수 있어 {id}의 일부를 하지 않았습니다. {reason}\n"
    "살펴보기: kingdom why {id}\n그대로 하기: kingdom release {id}\n"
    "하지 않기: kingdom queue drop {id}",
    "king_held_still": "{span} 동안 아무도 결정하지 않았습니다. {said}",
    "king_released": "{general}이(가) {original}에서 멈춘 일을 {task}(으)로 합니다",
    "king_nothing_held": "{task}에는 멈춘 일이 없습니다.",
    "king_may_not_approve": "구성원만 승인할 수 있습니다.",
    "king_limit_turns": "{about}에서 한 시간 안에 {count}번 일했습니다. king.yaml의 "
    "conversation.turns_per_hour 한도입니다.",
    "king_limit_usd": "{about}에 한 시간 안에 ${spent}을(를) 썼습니다. king.yaml의 "
    "conversation.usd_per_hour 한도는 ${most}입니다.",
    "king_limit_bot_hops": "{about}에서 봇이 시작한 일이 {count}번 이어졌습니다. king.yaml의 "
    "conversation.bot_hops 한도입니다.",
    "king_limit_failing": "{general}이(가) {about}에서 {count}번 잇달아 실패했고, 그 뒤로 바뀐 "
    "것이 없습니다.",
    "king_limit_bot": "봇({who})이 시작한 일이며, king.yaml의 bots.start_work에 그 이름이 "
    "없습니다.",
    "king_limit_schedule": "{general}이(가) {about}에서 {count}번 잇달아 실패하여, 성공할 때까지 "
    "하루에 한 번만 실행합니다. 지금 해 보려면: kingdom retry {task}",
    "king_limit_waits": "한 시간이 지날 때까지 기다립니다. `kingdom release {id}` 명령은 바로 "
    "계속하게 합니다.",
    "king_limit_refused": "이 일을 맡지 않습니다. `kingdom release {id}` 명령은 그래도 "
    "맡게 합니다.",
    "king_channel_ignored": "덜 신뢰하는 사람({trust})에게서 온 일이어서 다른 채널에는 알리지 "
    "않았습니다.",
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
    "king_no_words": "원하시는 일을 글로 알려 주세요. 파일은 읽지 않습니다.",
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
    "king_busy": "모든 병사가 일하고 있습니다.",
    "king_waits": "들었으며, 차례를 기다립니다. {reason}",
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
    # What the chamberlain says.
    "chamberlain_dead": "dead/에 있는 {count}개를 {day} 이후에 지웁니다. "
    "보려면: kingdom queue ls --state dead",
    # What a general says of a soldier at work.
    "general_working": "{general}, 작업 중입니다 ({span}): {doing}",
    "general_working_again": "{general}, {attempt}번째 시도로 작업 중입니다 ({span}): {doing}",
    # What the chamberlain alerts people to.
    "chamberlain_health_red": "상태가 red입니다({reason}). 새 작업을 받지 않습니다. "
    "무엇이 쓰고 있는지 보려면: top (킹덤만 보려면: kingdom top)",
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
    "chamberlain_hung_gone": "{role}, 제거되었습니다.",
    "chamberlain_returned": "{role}, {seconds}초 동안 응답이 없어 warden가 끝내고 다시 "
    "시작했습니다. 마지막으로 한 일을 보려면: kingdom logs {role}",
    "chamberlain_duty_broken": "chamberlain, {duty} 일을 하지 못합니다({error}). 다시 시도하며, "
    "나머지 일은 계속합니다. 어디서 멈췄는지 보려면: kingdom logs chamberlain",
    "chamberlain_duty_mended": "chamberlain, {duty} 일을 다시 합니다.",
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
