"""What everything stands on."""

OF_GROUND: dict[str, tuple[str, str]] = {
    "failed": (
        "실패했고 더 자세한 것은 알려지지 않았습니다.",
        "무슨 일이 있었는지는 적힌 말과 logs/system.log 파일에 있습니다.",
    ),
    "try_later": (
        "지금은 할 수 없습니다.",
        "저절로 다시 시도합니다. 무엇이 막는지는 적힌 말에 있습니다.",
    ),
    "never_works": (
        "몇 번을 해도 되지 않습니다.",
        "까닭은 적힌 말에 있습니다. 먼저 그것을 고치십시오.",
    ),
    "configuration": (
        "설정이 잘못되었거나 왕국이 있어야 할 곳에 없습니다.",
        "무엇이 잘못되었는지 보려면: kingdom doctor",
    ),
    "usage": (
        "명령을 잘못 적었습니다.",
        "어떻게 적는지 보려면: kingdom help",
    ),
    "not_found": (
        "그런 이름은 알려져 있지 않습니다.",
        "무엇이 있는지 보려면: kingdom queue ls",
    ),
    "lease_lost": (
        "이 메시지는 이제 다른 쪽이 맡고 있습니다.",
        "할 일은 없습니다. 맡은 쪽이 이어서 합니다.",
    ),
    "deferred": (
        "나중으로 미뤄졌습니다.",
        "저절로 이어집니다. 언제까지인지 보려면: kingdom why TASK",
    ),
    "unexplained": (
        "누군가 까닭 없이 따로 치워 두었습니다.",
        "보려면: kingdom queue ls --state dead",
    ),
    "handling_failed": (
        "이것을 처리하다가 프로그램에 오류가 났습니다.",
        "까닭은 logs/system.log에 있습니다. dead/의 메시지를 되돌리려면: kingdom queue retry",
    ),
    "already_runs": (
        "이 왕국의 이 역할은 이미 돌고 있습니다.",
        "보려면: kingdom status",
    ),
    "start_failed": (
        "왕국이 시작되지 못했습니다.",
        "까닭을 보려면: kingdom logs warden. 그런 뒤: kingdom start",
    ),
    "demo_late": (
        "시연이 제때 끝나지 않았습니다.",
        "무엇이 모자라는지 보려면: kingdom status",
    ),
    "general_exists": (
        "그 이름의 장군이 이미 있습니다.",
        "다른 이름을 고르거나 먼저 지우십시오: kingdom general remove",
    ),
    "no_answer": (
        "답에는 말이 있어야 합니다.",
        "따옴표 안에 적으십시오: kingdom answer TASK",
    ),
    "not_an_option": (
        "답이 주어진 선택지에 없습니다.",
        "선택지를 보려면: kingdom ask",
    ),
    "damaged_archive": (
        "백업이 손상되었거나 백업이 아닙니다.",
        "다른 백업을 쓰거나 새로 만드십시오: kingdom backup",
    ),
    "disk_refused": (
        "디스크에 쓸 수 없습니다.",
        "공간을 비우거나 권한을 확인하십시오. 그 뒤 저절로 이어집니다. 확인하려면: kingdom doctor",
    ),
    "few_files": (
        "파일을 더 열 수 없습니다.",
        "다음 명령으로 한도를 올리십시오: ulimit -n 4096. 그다음: kingdom restart. "
        "자세히 보려면: kingdom doctor.",
    ),
    "few_processes": (
        "프로세스나 스레드를 더 시작할 수 없습니다.",
        "일부를 끝내거나 다음 명령으로 한도를 올리십시오: ulimit -u 4096. 일은 저절로 이어집니다.",
    ),
    "little_memory": (
        "메모리가 더 없거나, 프로세스가 더 쓸 수 없습니다.",
        "다른 프로그램을 끝내거나 다음 명령으로 한도를 올리십시오: ulimit -v unlimited.",
    ),
    "small_files": (
        "파일이 더 커질 수 없습니다.",
        "다음 명령으로 한도를 올리십시오: ulimit -f unlimited. 그다음: kingdom restart.",
    ),
    "disk_failed": (
        "밖에 올리기 전에 알아야 할 것을 디스크에서 읽거나 쓸 수 없습니다.",
        "공간을 비우거나 권한을 확인하십시오. 저절로 다시 시도합니다.",
    ),
    "not_shown": (
        "기록되었지만 대기열의 파일을 바꾸지 못했습니다.",
        "잃은 것은 없습니다. 디렉터리에 쓸 수 있게 되면 나타납니다.",
    ),
    "bus_busy": (
        "다른 누군가가 지금 큐에 쓰고 있습니다.",
        "잠시 뒤에 다시 시도하십시오.",
    ),
    "clock_doubted": (
        "시계가 하루 넘게 바뀌었거나, 아직 하루 동안 지켜보지 못했습니다.",
        "하루를 기다리거나, 지금 시계가 맞으면: kingdom clean --clock-is-right",
    ),
    "no_access": (
        "이 사용자는 킹덤의 파일이나 디렉터리를 쓸 수 없습니다.",
        "어느 것인지, 어떻게 고치는지 보려면: kingdom status",
    ),
    "log_unwritable": (
        "기록 파일에 쓸 수 없습니다.",
        "디스크 공간을 비우거나 logs/ 권한을 확인하십시오.",
    ),
    "state_unwritable": (
        "역할이 기억해야 할 것을 쓸 수 없습니다.",
        "디스크 공간을 비우거나 state/ 권한을 확인하십시오.",
    ),
    "console_unwritable": (
        "콘솔 파일에 쓸 수 없어 메시지가 기다립니다.",
        "디스크 공간을 비우거나 logs/ 권한을 확인하십시오.",
    ),
    "invalid_file": (
        "파일이 그 자리에 있어야 할 것이 아닙니다.",
        "까닭은 파일 곁에 있습니다. 고쳐서 되돌려 놓으십시오.",
    ),
    "not_json": (
        "파일이 JSON이 아닙니다.",
        "고쳐서 되돌려 놓으십시오. 형식은: kingdom schema",
    ),
    "too_deep": (
        "파일의 JSON이 너무 깊이 겹쳐 있습니다.",
        "덜 겹치게 고쳐서 되돌려 놓으십시오.",
    ),
    "not_utf8": (
        "파일이 UTF-8로 적혀 있지 않습니다.",
        "UTF-8로 저장해서 되돌려 놓으십시오.",
    ),
    "invalid_field": (
        "파일의 필드가 없거나 정해진 형식이 아닙니다.",
        "고쳐서 되돌려 놓으십시오. 형식은: kingdom schema",
    ),
    "contradictory": (
        "파일이 스스로 모순됩니다.",
        "고쳐서 되돌려 놓으십시오. 형식은: kingdom schema",
    ),
    "too_large": (
        "파일이 허락된 것보다 큽니다.",
        "긴 내용은 다른 파일에 두고 그 이름을 적으십시오.",
    ),
    "symlink": (
        "파일이 있어야 할 곳에 심볼릭 링크가 있습니다.",
        "파일 자체를 그곳에 옮기십시오.",
    ),
    "not_a_file": (
        "파일이 있어야 할 곳에 다른 것이 있습니다.",
        "그곳에 JSON 파일을 두십시오.",
    ),
    "not_a_message": (
        "대기열에 메시지가 아닌 파일이 있습니다.",
        "메시지는 이름이 id와 .json으로 된 파일입니다.",
    ),
    "unreadable": (
        "파일을 읽을 수 없습니다.",
        "권한을 확인하십시오. 예: chmod u+r",
    ),
    "others_may_write": (
        "다른 사용자가 설정, 장군 패키지 또는 프로그램을 바꿀 수 있습니다.",
        "내용이 맞는지 확인한 뒤 chmod go-w로 닫으십시오.",
    ),
    "foreign_owner": (
        "이곳에 일을 맡길 수 없는 사람의 파일입니다.",
        "왕국의 사용자로 복사하거나 config/local/system.yaml에 `group`을 정하십시오.",
    ),
    "bad_id": (
        "적힌 것이 id가 아닙니다.",
        "글자, 숫자와 . _ : - 만, 많아야 200자입니다.",
    ),
    "id_mismatch": (
        "파일 안의 id가 파일 이름과 다릅니다.",
        "이름을 바꾸거나 id를 고친 뒤 되돌려 놓으십시오.",
    ),
    "duplicate_id": (
        "이 id를 가진 다른 파일이 이미 있습니다.",
        "다른 id를 주거나, 복사하지 말고 원래 파일을 옮기십시오.",
    ),
    "newer_format": (
        "파일이 이 프로그램이 아는 것보다 새 형식입니다.",
        "이 기계의 프로그램을 올린 뒤 다시 하십시오.",
    ),
    "older_format": (
        "파일이 이 프로그램이 쓰는 것보다 옛 형식입니다.",
        "올리려면: kingdom migrate",
    ),
}
