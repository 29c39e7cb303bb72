"""`kingdom envoy`: the Slack app that speaks for the kingdom, made and tried."""

from __future__ import annotations

from kingdom.cli.call import Call
from kingdom.cli.output import harmless, print_json
from kingdom.cli.parser import Parser
from kingdom.cli.verbs import overview, run_verb
from kingdom.errors import EXIT_DONE

VERBS = {
    "try": ("envoy", "whether token, scopes and channel of the Slack app are as they must be"),
    "manifest": ("envoy", "what makes the Slack app in one paste"),
}
ABOUT = "The Slack app that speaks for the kingdom."
EXAMPLES = ("kingdom envoy manifest", "kingdom envoy try")


def run(call: Call, verb: str = "") -> int:
    if not verb:
        return run_verb(call, "envoy", VERBS, overview("envoy", ABOUT, VERBS, *EXAMPLES))
    return _manifest(call) if verb == "manifest" else _try(call)


def parser(verb: str = "try") -> Parser:
    if verb == "manifest":
        made = Parser(
            "envoy manifest",
            "Prints the manifest of the Slack app. Paste it at https://api.slack.com/apps under "
            "Create New App, From a manifest.",
            "kingdom envoy manifest",
        )
    else:
        made = Parser(
            "envoy try",
            "Asks Slack who the token belongs to and what it may do, posts a test message to the "
            "default channel, and removes it again. It names the first thing that is missing.",
            "kingdom envoy try",
        )
    made.takes_json()
    return made


def _try(call: Call) -> int:
    options = parser("try").read(call)
    from kingdom.ops.slack_app import trial

    said = []
    for sentence in trial(call.base(), call.environment):
        said.append(sentence)
        if not options.json:
            print(harmless(sentence, keep=""), flush=True)
    if options.json:
        print_json(said)
    return EXIT_DONE


def _manifest(call: Call) -> int:
    options = parser("manifest").read(call)
    from kingdom.ops.slack_app import manifest

    if options.json:
        print_json(manifest())
    else:
        import yaml

        print(yaml.safe_dump(manifest(), sort_keys=False), end="")
    return EXIT_DONE
