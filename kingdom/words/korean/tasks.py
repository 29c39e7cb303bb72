"""How an attempt at a task can fail."""

OF_TASKS: dict[str, tuple[str, str]] = {
    "nothing_held": (
        "내보내기로 한 것이 이제는 멈춰 있지 않습니다.",
        "어떻게 되었는지 보려면: kingdom why TASK",
    ),
    "no_result": (
        "병사가 결과를 쓰지 않고 끝났습니다.",
        "무슨 말을 남겼는지 보려면: kingdom logs SOLDIER",
    ),
    "result_unreadable": (
        "병사의 결과가 결과가 아닙니다. JSON이 아니거나 정해진 형식이 아닙니다.",
        "state/results/TASK-raw-SOLDIER/ 파일을 보십시오. 형식은: kingdom schema result",
    ),
    "result_contradictory": (
        "병사의 결과가 스스로 모순됩니다.",
        "state/results/TASK-raw-SOLDIER/ 파일을 보십시오. 형식은: kingdom schema result",
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
    "superseded": (
        "풀 리퀘스트가 바뀌어, 새 버전으로 대신 일합니다.",
        "그래도 이 버전으로 일하려면: kingdom retry TASK",
    ),
    "same_call": (
        "병사가 같은 호출을 거듭 되풀이했습니다.",
        "무엇이었는지 보려면: kingdom logs SOLDIER. 한도는 장군의 manifest에 있는 "
        "limits.same_call 값입니다. 그런 뒤: kingdom retry TASK",
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
    "sandbox_failed": (
        "병사의 샌드박스를 만들지 못했습니다.",
        "bubblewrap이 무엇이라 했는지 보려면: kingdom logs SOLDIER; "
        "작동하는지 보려면: kingdom doctor",
    ),
    "isolation_missing": (
        "샌드박스가 필요한데 이 머신에는 없어서 병사를 시작하지 않았습니다.",
        "무엇이 없는지는 kingdom doctor로 확인하십시오. 구성원의 작업을 샌드박스 없이 실행하려면 "
        "config/local/system.yaml에서 runtime.isolation을 off로 설정하십시오.",
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
        "예산(장군의 manifest.yaml 파일의 limits와 permissions.by_trust, chamberlain.yaml 파일의 "
        "token_limits)을 올리거나 일을 더 작게 나눈 뒤: kingdom retry TASK",
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
    "checkout_too_large": (
        "이 커밋의 파일들이 허용된 것보다 많은 디스크 공간을 차지합니다.",
        "그래도 필요하다면 system.yaml에서 git.max_checkout_mb나 git.max_checkout_files를 "
        "올리십시오 (멤버가 아닌 사람의 일은 git.max_outside_checkout_mb, "
        "git.max_outside_checkout_files).",
    ),
}
