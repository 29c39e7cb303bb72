"""How Slack is asked, by slack-sdk, which is imported when the first request is made.

Nothing is sent twice from here and nothing waits for a limit to pass: whoever asked hears by
`SlackLater` when to ask again and whether what was asked may have been done meanwhile, or by
`SlackRefused` that asking again is no use. The token is in neither of them, nor in any log.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from http.client import HTTPException
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

from kingdom import __version__
from kingdom.clients.slack_faults import (
    LONGEST_LIMIT,
    SlackLater,
    SlackLimited,
    SlackRefused,
    SlackShut,
    is_trouble,
    limit_in,
    refusal_in,
    wait_named,
)
from kingdom.clock import Clock, still_waits
from kingdom.errors import ConfigurationError

if TYPE_CHECKING:
    from slack_sdk import WebClient

API_URL = "https://slack.com/api/"
PER_PAGE = 200
MOST_PAGES = 100
_FIRST_PAUSE, _LONGEST_PAUSE = timedelta(seconds=2), timedelta(minutes=2)

Entry = dict[str, Any]


class SlackCalls:
    """With one token. What Slack wants of those who ask is kept here."""

    def __init__(
        self,
        token: str,
        api_url: str,
        *,
        variable: str,
        clock: Clock,
        timeout: int,
        knock_again: timedelta | None,
    ) -> None:
        address = urlsplit(api_url)
        if address.scheme not in ("http", "https") or not address.hostname:
            raise ConfigurationError(
                "The api_url of Slack is not an address.", remedy=f"Write it as {API_URL}"
            )
        self.is_plain = address.scheme == "http"
        self._token = token
        self._api_url = api_url
        self._variable = variable
        self._clock = clock
        self._timeout = timeout
        self._client: WebClient | None = None
        self._held: dict[str, datetime] = {}  # methods that Slack wants to be left alone with
        self._troubles = 0  # since the last answer
        self._goes_by_steps = False
        self._silence: SlackLater | None = None  # it did not answer in this step
        self._knock_again = knock_again
        self.shut: SlackShut | None = None  # if it let nobody in when it was last asked
        self.scopes: frozenset[str] = frozenset()  # as far as Slack has told

    def begin_step(self) -> None:
        """Until the next call of this, nobody waits for Slack again after it did not answer."""
        self._goes_by_steps, self._silence = True, None

    def pages(self, method: str, name: str, asked: Entry, limit: int = PER_PAGE) -> Iterator[Entry]:
        cursor = ""
        for _ in range(MOST_PAGES):
            more = {"limit": limit} | ({"cursor": cursor} if cursor else {})
            page = self.ask(method, asked | more, about=text_in(asked, "channel"))
            found = page.get(name)
            yield from (one for one in found or () if isinstance(one, dict))
            told = page.get("response_metadata")
            cursor = text_in(told, "next_cursor") if isinstance(told, dict) else ""
            if not cursor:
                return
        raise SlackRefused(f"There are more than {MOST_PAGES} pages to look at.", error="pages")

    def ask(
        self, method: str, form: Entry | None = None, *, json: Entry | None = None, about: str = ""
    ) -> Entry:
        self._respect_limits(method)
        status, headers, data = self._exchange(method, form, json)
        if status == 200 and isinstance(data, dict) and data.get("ok") is True:
            self._troubles, self.shut = 0, None
            self._note_scopes(headers)
            return data
        error = text_in(data, "error") if isinstance(data, dict) else ""
        limit = limit_in(status, headers, error, self._clock.now())
        if limit is not None and limit.not_before is not None:
            self._held[method] = limit.not_before
            raise limit
        if is_trouble(status, data):
            what = error if error and " " not in error else f"{status}, and no answer of its own"
            raise self._trouble(f"it answers with {what}", wait_named(headers), probe=True)
        refused = refusal_in(data, about=about, variable=self._variable, token=self._token)
        if refused.code != SlackShut.code or self._knock_again is None:
            raise refused
        self.shut = SlackShut(refused, self._clock.now() + self._knock_again)
        raise self.shut

    def _note_scopes(self, headers: Mapping[str, str]) -> None:
        told = next((v for k, v in headers.items() if k.lower() == "x-oauth-scopes"), "")
        self.scopes = frozenset(filter(None, map(str.strip, told.split(",")))) or self.scopes

    def _respect_limits(self, method: str) -> None:
        if self._silence is not None:
            raise self._silence.with_traceback(None)
        now, shut_until = self._clock.now(), self.shut and self.shut.not_before
        if self.shut and shut_until and still_waits(shut_until, now, LONGEST_LIMIT):
            raise self.shut.with_traceback(None)
        until = self._held.get(method)
        if until is not None and still_waits(until, now, LONGEST_LIMIT):
            raise SlackLimited("Slack limits how much it is asked.", until)
        self._held.pop(method, None)

    def _trouble(
        self, what: str, wait: timedelta | None = None, *, probe: bool, is_silent: bool = False
    ) -> SlackLater:
        """With Slack as a whole: then everything waits. If it is well otherwise, the trouble lies
        in what was asked, and no moment is named."""
        sentence, until = f"Slack has trouble: {what}.", None
        if probe and (wait is not None or not self._is_well()):
            self._troubles += 1
            pause = min(_FIRST_PAUSE * 2 ** min(self._troubles - 1, 10), _LONGEST_PAUSE)
            until = self._clock.now() + (wait or pause)
        if is_silent and self._goes_by_steps:
            soon = until or self._clock.now() + _FIRST_PAUSE
            self._silence = SlackLater(sentence, not_before=soon, undone=True)
        return SlackLater(sentence, not_before=until)

    def _is_well(self) -> bool:
        try:
            status, _, data = self._exchange("api.test", {}, None, probe=False)
        except SlackLater:
            return False
        return status == 200 and isinstance(data, dict) and data.get("ok") is True

    def _exchange(
        self, method: str, form: Entry | None, json: Entry | None, *, probe: bool = True
    ) -> tuple[int, Mapping[str, str], Any]:
        """One request, one answer. The failures of the libraries below hold the request with the
        token in it, so ours are raised when theirs are forgotten."""
        from slack_sdk.errors import SlackApiError, SlackClientError

        what = ""
        try:
            answer = self._connected().api_call(method, params=form, json=json)
        except SlackApiError as error:
            answer = error.response
        except (OSError, HTTPException) as error:
            what = f"it could not be reached, or did not answer ({type(error).__name__})"
        except (SlackClientError, ValueError, TypeError, LookupError, AttributeError) as error:
            what = f"its answer makes no sense ({type(error).__name__})"
        if what:
            raise self._trouble(what, probe=probe, is_silent=True)
        return answer.status_code, dict(answer.headers), answer.data

    def upload(self, address: str, content: bytes) -> None:
        what = ""
        try:
            with urlopen(Request(address, content, method="POST"), timeout=self._timeout) as answer:
                answer.read()
        except (OSError, HTTPException) as error:  # the address holds a secret of its own
            what = f"it did not take a file ({type(error).__name__})"
        if what:
            raise self._trouble(what, probe=True, is_silent=True)

    def _connected(self) -> WebClient:
        if self._client is None:
            from slack_sdk import WebClient

            self._client = WebClient(
                token=self._token,
                base_url=self._api_url,
                timeout=self._timeout,
                user_agent_prefix=f"kingdom/{__version__}",
                retry_handlers=[],
                logger=silent_logger(),
            )
            self._client.proxy = None  # urllib finds it by itself, and minds no_proxy, too
        return self._client


def silent_logger() -> logging.Logger:
    """The library logs what it sends and what failed; ours say it, without what is secret."""
    logger = logging.Logger("slack_sdk", level=logging.CRITICAL + 1)
    logger.addHandler(logging.NullHandler())
    return logger


def text_in(raw: Mapping[str, Any], key: str) -> str:
    value = raw.get(key)
    return value if isinstance(value, str) else ""
