"""What others refuse or cannot do."""

OF_SERVICES: dict[str, tuple[str, str]] = {
    "github_unavailable": (
        "GitHub에 닿을 수 없거나 GitHub에 장애가 있습니다.",
        "저절로 다시 묻습니다. 오래가면 네트워크를 확인하고: kingdom status",
    ),
    "github_limited": (
        "GitHub의 요청 한도에 닿았습니다.",
        "한도가 풀리면 저절로 다시 묻습니다. interval_seconds 값을 늘리면 덜 묻습니다.",
    ),
    "github_login": (
        "GitHub이 토큰을 받아들이지 않습니다.",
        "토큰을 새로 만들거나 다음을 실행하십시오: gh auth login. 그 뒤 저절로 다시 시도합니다.",
    ),
    "github_refused": (
        "GitHub이 요청을 거절했습니다.",
        "까닭은 GitHub의 말에 있습니다. 대개 토큰에 저장소 권한이 없는 경우입니다.",
    ),
    "jira_unavailable": (
        "Jira에 닿을 수 없거나 Jira에 장애가 있습니다.",
        "저절로 다시 묻습니다. 오래가면 sentinel.yaml의 polling.jira.url 값을 확인하십시오.",
    ),
    "jira_limited": (
        "Jira의 요청 한도에 닿았습니다.",
        "한도가 풀리면 저절로 다시 묻습니다. interval_seconds 값을 늘리면 덜 묻습니다.",
    ),
    "jira_login": (
        "Jira가 토큰을 받아들이지 않거나 사람이 직접 로그인하기를 바랍니다.",
        "토큰을 새로 만들어 설정하십시오(docs/watching-jira.md). 저절로 다시 시도합니다.",
    ),
    "jira_query": (
        "Jira가 감시자의 검색식을 이해하지 못합니다.",
        "Jira의 검색에서 시험해 본 뒤 sentinel.yaml의 polling.jira.scope.jql_base 값을 고치십시오.",
    ),
    "jira_refused": (
        "Jira가 요청을 거절했습니다.",
        "까닭은 Jira의 말에 있습니다. 계정에 권한이 없을 수 있습니다(docs/watching-jira.md).",
    ),
    "slack_unavailable": (
        "Slack에 닿을 수 없거나 Slack에 장애가 있습니다.",
        "메시지는 기다렸다가 저절로 보냅니다. 무엇이 기다리는지 보려면: kingdom queue ls messages",
    ),
    "slack_limited": (
        "Slack의 요청 한도에 닿았습니다.",
        "한도가 풀리면 기다리던 메시지를 저절로 보냅니다.",
    ),
    "slack_login": (
        "Slack이 토큰을 받아들이지 않습니다.",
        "워크스페이스에 앱을 다시 설치하고 새 토큰을 설정한 뒤: kingdom restart",
    ),
    "slack_no_channel": (
        "Slack에 그런 채널이나 사람이 없거나 채널이 보관되었습니다.",
        "config/local/envoy.yaml에 실제로 있는 채널을 적으십시오. "
        "비공개 채널에는 앱을 초대해야 합니다.",
    ),
    "slack_not_in_channel": (
        "Slack 앱이 그 채널에 없습니다.",
        "그 채널에서 초대하십시오: /invite @kingdom",
    ),
    "slack_scope": (
        "Slack 앱에 권한 범위(scope)가 모자랍니다.",
        "OAuth & Permissions에서 적힌 범위를 더하고 앱을 다시 설치하십시오.",
    ),
    "slack_crowded": (
        "다른 프로그램이 같은 Slack 앱으로 듣고 있고, Slack은 답을 한쪽에만 전합니다.",
        "다른 쪽을 멈추거나 그쪽 앱을 따로 만드십시오: kingdom envoy manifest",
    ),
    "slack_refused": (
        "Slack이 요청을 거절했습니다.",
        "까닭은 Slack의 말에 있습니다. 앱과 채널을 확인하려면: kingdom envoy try",
    ),
    "watcher_off": (
        "감시자가 설정되어 있지만 필요한 것이 없습니다.",
        "무엇을 설정해야 하는지는 kingdom status 명령이 알려 줍니다.",
    ),
    "watcher_crashed": (
        "감시자가 예상하지 못한 방식으로 실패했습니다.",
        "저절로 다시 봅니다. 자세한 것은: kingdom logs sentinel",
    ),
    "action_refused": (
        "병사가 밖에 해 달라고 한 일을 왕국이 하지 않았습니다.",
        "까닭은 결과에 있습니다. 할 수 있는 일은 manifest의 permissions.actions 값이 정합니다.",
    ),
    "outbound_held": (
        "비밀 값이 들어 있을 수 있어 내보내지 않았습니다.",
        "kingdom queue show ID 명령으로 살펴본 뒤, 그대로 내보내려면 kingdom release ID, 내보내지 "
        "않으려면 kingdom queue drop ID 명령을 쓰십시오.",
    ),
    "memory_busy": (
        "누군가 기억 파일을 잡고 놓지 않습니다.",
        "이번 교훈만 적지 못했습니다. 파일을 연 것을 닫으십시오. 예: kingdom memory edit",
    ),
    "memory_unreadable": (
        "기억 파일이 덧붙일 수 있는 글이 아닙니다.",
        "보려면: kingdom memory show. 그런 뒤 파일을 고치거나 지우십시오.",
    ),
    "memory_refused": (
        "편집기에서 나온 내용을 기억으로 둘 수 없습니다.",
        "고친 사본은 남아 있습니다. 바로잡아 다시 하십시오: kingdom memory edit",
    ),
}
