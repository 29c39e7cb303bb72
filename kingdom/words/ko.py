"""Korean."""

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
    "chamberlain_report_cost": "비용: 시도 {attempts}번에 ${usd}",
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

# Every failure of `kingdom.failures`: what happened, and what helps. Paths, keys and commands are
# as they are there.
FAILURES: dict[str, tuple[str, str]] = {
    "no_result": (
        "병사가 결과를 쓰지 않고 끝났습니다.",
        "무슨 말을 남겼는지 보려면: kingdom logs SOLDIER",
    ),
    "result_unreadable": (
        "병사의 결과가 결과가 아닙니다. JSON이 아니거나 정해진 형식이 아닙니다.",
        "state/results/TASK-raw-SOLDIER.json 파일을 보십시오. 형식은: kingdom schema result",
    ),
    "result_contradictory": (
        "병사의 결과가 스스로 모순됩니다.",
        "state/results/TASK-raw-SOLDIER.json 파일을 보십시오. 형식은: kingdom schema result",
    ),
    "result_too_large": (
        "병사의 결과가 너무 큽니다.",
        "긴 출력은 파일에 쓰고 결과에는 그 이름만 적게 하십시오.",
    ),
    "result_of_another_task": (
        "병사가 다른 작업의 결과를 썼습니다.",
        "프롬프트에 작업 이름이 있어야 합니다. state/prompts/TASK.md 파일을 보십시오.",
    ),
    "reported_failure": (
        "병사가 실패했다고 보고했습니다.",
        "병사가 한 말은 결과의 error에 있습니다.",
    ),
    "soldier_crashed": (
        "병사의 프로그램이 오류로 끝났고 결과를 남기지 않았습니다.",
        "무슨 말을 남겼는지 보려면: kingdom logs SOLDIER",
    ),
    "soldier_killed": (
        "병사가 결과를 내기 전에 신호를 받아 끝났습니다.",
        "메모리가 부족하다면 king.yaml의 concurrency.max_soldiers 값을 낮추십시오.",
    ),
    "soldier_lost": (
        "병사의 세션이 사라졌고 결과도 종료 코드도 남지 않았습니다.",
        "누군가 tmux 서버를 끝냈거나 기계가 다시 시작되었습니다. 다시 시도합니다.",
    ),
    "stopped": (
        "사람이 왕국을 병사들과 함께 멈췄습니다.",
        "다시 시작하면 곧바로 새로 합니다: kingdom start",
    ),
    "timed_out": (
        "병사가 장군이 허락한 시간보다 오래 일했습니다.",
        "장군의 manifest에서 timeout_seconds 값을 올리거나 일을 더 작게 나누십시오.",
    ),
    "verification_failed": (
        "병사는 성공이라고 했지만 장군의 검사를 통과하지 못했습니다.",
        "실패한 명령과 그 출력은 병사의 기록에 있습니다: kingdom logs SOLDIER",
    ),
    "cancelled": (
        "사람이 취소했습니다.",
        "다시 시작하려면: kingdom retry TASK",
    ),
    "prompt_too_large": (
        "이 작업의 프롬프트가 엔진이 받을 수 있는 것보다 큽니다.",
        "payload를 줄이거나, 내용을 옮겨 적는 대신 파일 이름을 적으십시오.",
    ),
    "workspace_failed": (
        "병사의 작업 공간을 준비하지 못했습니다.",
        "디스크나 git이 무엇이라 했는지는 logs/system.log 파일에 있습니다.",
    ),
    "engine_missing": (
        "병사가 쓰는 프로그램이 설치되어 있지 않습니다.",
        "무엇이 없고 어떻게 설치하는지는 kingdom status 명령이 알려 줍니다.",
    ),
    "engine_unavailable": (
        "엔진이 지금은 일을 받지 않습니다. 사용 한도에 닿았거나 장애가 있습니다.",
        "언제까지인지는 kingdom status 명령이 알려 줍니다. 그 뒤 저절로 이어집니다.",
    ),
    "engine_refused": (
        "엔진이 이 일을 할 수 없습니다. 로그인이나 설정이 잘못되었습니다.",
        "결과의 error를 보고 고친 뒤: kingdom retry TASK",
    ),
    "engine_unsupported": (
        "설정된 엔진을 장군이 지원하지 않습니다.",
        "system.yaml의 runtime.engine이나 manifest의 supported_engines를 바꾸십시오.",
    ),
    "tmux_failed": (
        "tmux가 없거나 세션을 시작하지 못했습니다.",
        "tmux를 설치하거나(apt-get install tmux) logs/system.log 파일을 보십시오.",
    ),
    "crashed_too_often": (
        "이 작업을 맡은 장군이 거듭 죽었습니다.",
        "logs/system.log 파일을 본 뒤: kingdom retry TASK",
    ),
    "dropped": (
        "사람이 대기열에서 뺐습니다.",
        "다시 시작하려면: kingdom retry TASK",
    ),
    "engine_limited": (
        "엔진의 사용 한도에 닿았습니다.",
        "언제까지인지는 kingdom status 명령이 알려 줍니다. 그 뒤 저절로 이어집니다.",
    ),
    "engine_overloaded": (
        "엔진에 닿을 수 없거나 엔진이 과부하 상태입니다.",
        "언제 다시 시도하는지는 kingdom status 명령이 알려 줍니다. 그 뒤 저절로 이어집니다.",
    ),
    "engine_login": (
        "엔진이 로그인을 받아들이지 않거나 지불할 잔액이 없습니다.",
        "왕국을 돌리는 사용자로 다시 로그인한 뒤: kingdom retry TASK",
    ),
    "engine_failed": (
        "엔진이 스스로의 오류로 끝났습니다.",
        "무슨 말을 남겼는지 보려면: kingdom logs SOLDIER",
    ),
    "model_refused": (
        "모델이 이 일을 거절했습니다.",
        "바라는 바를 다른 말로 적은 뒤: kingdom retry TASK",
    ),
    "turns_exceeded": (
        "병사가 허락된 차례를 다 쓰고도 끝내지 못했습니다.",
        "차례의 한도를 올리거나 일을 더 작게 나눈 뒤: kingdom retry TASK",
    ),
    "budget_exceeded": (
        "병사가 허락된 비용을 다 쓰고도 끝내지 못했습니다.",
        "작업의 예산을 올리거나 일을 더 작게 나눈 뒤: kingdom retry TASK",
    ),
    "day_budget_spent": (
        "병사가 일을 마치기 전에 오늘의 예산이 다 떨어졌습니다.",
        "내일 이어서 하거나, chamberlain.yaml 파일의 token_limits 한도를 올리면 이어서 합니다.",
    ),
    "empty_run": (
        "엔진은 성공이라고 했지만 모델은 아무 말도 하지 않았습니다.",
        "무슨 말을 남겼는지 보려면: kingdom logs SOLDIER",
    ),
    "tools_denied": (
        "병사가 쓰려던 도구가 허락되지 않았고, 결과 없이 끝났습니다.",
        "장군의 manifest에서 permissions.tools 값에 더하거나, 프롬프트가 그것 없이 하게 하십시오.",
    ),
    "no_progress": (
        "병사가 장군이 허락한 것보다 오래 아무 말도, 아무 일도 하지 않았습니다.",
        "어디까지 했는지 보려면: kingdom logs SOLDIER. 한도는 limits.no_progress_seconds 값입니다.",
    ),
    "too_much_output": (
        "병사의 프로그램이 허락된 것보다 많은 출력을 쏟아 냈습니다.",
        "어떻게 시작했는지 보려면: kingdom logs SOLDIER. 한도는 system.yaml의 "
        "runtime.max_output_mb 값입니다. 그런 뒤: kingdom retry TASK",
    ),
    "session_lost": (
        "이어서 하려던 세션이 엔진에 더는 없습니다.",
        "저절로 새로 시작합니다.",
    ),
    "git_missing": (
        "git이 설치되어 있지 않습니다.",
        "설치하려면: apt-get install git (또는 이 시스템의 패키지 관리자)",
    ),
    "git_failed": (
        "git이 오류로 끝났습니다.",
        "결과의 error를 보십시오. git이 남긴 말은 logs/system.log 파일에 있습니다.",
    ),
    "git_unreachable": (
        "저장소의 서버에 닿을 수 없습니다.",
        "네트워크와 system.yaml 파일의 git.url 값을 확인하십시오. 다시 시도합니다.",
    ),
    "git_busy": (
        "다른 git이 저장소에서 일하고 있습니다.",
        "다시 시도합니다.",
    ),
    "clone_broken": (
        "장군이 가진 저장소 사본이 손상되었습니다.",
        "저절로 새로 복제합니다.",
    ),
    "git_refused": (
        "저장소의 서버가 왕국을 들여보내지 않습니다.",
        "system.yaml 파일의 git.token_env 변수에 토큰을 두거나: gh auth login",
    ),
    "repository_missing": (
        "그런 저장소가 없거나 왕국이 볼 수 없습니다.",
        "이름을 확인하십시오. 비공개 저장소에는 읽을 수 있는 토큰이 필요합니다.",
    ),
    "ref_missing": (
        "그 브랜치나 커밋이 저장소에 없습니다.",
        "지워졌을 수 있습니다. 확인한 뒤: kingdom retry TASK",
    ),
    "push_rejected": (
        "저장소의 서버가 푸시를 거절했습니다.",
        "서버의 말은 결과에 있습니다. 한 일은 거기에 적힌 ref에 남아 있습니다.",
    ),
    "repository_refused": (
        "저장소가 허락되지 않은 방식으로 적혀 있습니다.",
        "이벤트는 owner/name으로 적습니다. 주소와 경로는 장군의 manifest에 적습니다.",
    ),
    "lfs_missing": (
        "저장소가 git-lfs로 큰 파일을 두는데, git-lfs가 설치되어 있지 않습니다.",
        "설치하려면: apt-get install git-lfs. 또는 system.yaml: git.lfs 값을 false로.",
    ),
}
