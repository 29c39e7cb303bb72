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
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

from kingdom import __version__
from kingdom.clients.slack_faults import (
    IN_PLACE_OF_SLACK,
    LONGEST_LIMIT,
    NOT_REACHED,
    SlackLater,
    SlackRefused,
    SlackShut,
    is_trouble,
    limit_in,
    refusal_in,
    wait_named,
)
from kingdom.clients.slack_methods import SlackMethods
from kingdom.clock import Clock, still_waits
from kingdom.errors import ConfigurationError

if TYPE_CHECKING:
    from slack_sdk import WebClient

API_URL = "https://slack.com/api/"
PER_PAGE = 200
MOST_PAGES = 100
UPLOAD = "the upload of a file"  # named like a method, though it has an address of its own
_IS_WELL, _KNOWS_US = "api.test", "auth.test"
_FINE, _LACKING, _BROKEN = "fine", "lacking", "broken"
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
        timeout: float,
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
        self.methods = SlackMethods(clock)
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
        try:
            answer = self._answer(method, form, json, about)
        except (SlackLater, SlackRefused) as error:
            self.methods.note(method, error)
            raise
        self.methods.note(method, None)
        return answer

    def _answer(self, method: str, form: Entry | None, json: Entry | None, about: str) -> Entry:
        status, headers, data = self._exchange(method, form, json)
        if _is_fine(status, data):
            self._troubles, self.shut = 0, None
            self._note_scopes(headers)
            return cast(Entry, data)
        error = text_in(data, "error") if isinstance(data, dict) else ""
        limit = limit_in(method, status, headers, error, self._clock.now())
        if limit is not None:
            raise limit
        if is_trouble(status, data):
            word = error if " " not in error else ""  # a sentence is the library's
            what = word or f"{status}, and no answer of its own"
            remedy = "" if word or status >= 500 else IN_PLACE_OF_SLACK
            raise self._trouble(method, f"it answers with {what}", remedy, wait_named(headers))
        refused = refusal_in(
            data, method=method, about=about, variable=self._variable, token=self._token
        )
        if refused.code != SlackShut.code or self._knock_again is None:
            raise refused
        if self.shut is None and self._is_known(method):
            raise refused
        self.shut = SlackShut(refused, self._clock.now() + self._knock_again)
        raise self.shut

    def _is_known(self, method: str) -> bool:
        """Whether Slack accepts the token elsewhere: then the refusal is this method's alone."""
        return method != _KNOWS_US and self._probe(_KNOWS_US) is _FINE

    def _note_scopes(self, headers: Mapping[str, str]) -> None:
        told = next((v for k, v in headers.items() if k.lower() == "x-oauth-scopes"), "")
        self.scopes = frozenset(filter(None, map(str.strip, told.split(",")))) or self.scopes

    def _respect_limits(self, method: str) -> None:
        if self._silence is not None:
            raise self._silence.with_traceback(None)
        now, shut_until = self._clock.now(), self.shut and self.shut.not_before
        if self.shut and shut_until and still_waits(shut_until, now, LONGEST_LIMIT):
            raise self.shut.with_traceback(None)
        self.methods.check(method)

    def _trouble(
        self,
        method: str,
        what: str,
        remedy: str,
        wait: timedelta | None = None,
        *,
        is_silent: bool = False,
    ) -> SlackLater:
        """With Slack as a whole: then everything waits. If it is well otherwise, the trouble lies
        in what was asked, and no moment is named unless Slack does."""
        if not self._is_well():
            return self._outage(what, remedy, wait, is_silent=is_silent)
        sentence = f"Slack has trouble with {method}: {what}."
        if is_silent:
            self.methods.leave_alone(method, sentence, remedy)
            self._hush(sentence, remedy)
        until = None if wait is None else self._clock.now() + wait
        return SlackLater(sentence, not_before=until, method=method, remedy=remedy)

    def _outage(
        self, what: str, remedy: str, wait: timedelta | None, *, is_silent: bool
    ) -> SlackLater:
        sentence = f"Slack has trouble: {what}."
        self._troubles += 1
        pause = min(_FIRST_PAUSE * 2 ** min(self._troubles - 1, 10), _LONGEST_PAUSE)
        until = self._clock.now() + (wait or pause)
        if is_silent or self._silence is not None:
            self._hush(sentence, remedy, until)
        return SlackLater(sentence, not_before=until, remedy=remedy)

    def _hush(self, sentence: str, remedy: str, until: datetime | None = None) -> None:
        """Nobody asks it again in this step."""
        if self._goes_by_steps:
            soon = until or self._clock.now() + _FIRST_PAUSE
            self._silence = SlackLater(sentence, not_before=soon, undone=True, remedy=remedy)

    def _is_well(self) -> bool:
        """Whether Slack answers as it should when it is asked for something simple. What stands in
        its place may lack just that method, too."""
        found = self._probe(_IS_WELL)
        return found is _FINE or (found is _LACKING and self._probe(_KNOWS_US) is _FINE)

    def _probe(self, method: str) -> str:
        try:
            status, _, data = self._exchange(method, {}, None, probe=False)
        except SlackLater:
            self._hush(f"Slack does not answer {method}.", NOT_REACHED)
            return _BROKEN
        if _is_fine(status, data):
            return _FINE
        error = data.get("error") if isinstance(data, dict) else ""
        return _LACKING if status == 404 or error == "unknown_method" else _BROKEN

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
        if what and not probe:
            raise SlackLater(what)
        if what:
            raise self._trouble(method, what, NOT_REACHED, is_silent=True)
        return answer.status_code, dict(answer.headers), answer.data

    def upload(self, address: str, content: bytes) -> None:
        self._respect_limits(UPLOAD)
        what = ""
        try:
            with urlopen(Request(address, content, method="POST"), timeout=self._timeout) as answer:
                answer.read()
        except (OSError, HTTPException) as error:  # the address holds a secret of its own
            what = f"it did not take a file ({type(error).__name__})"
        failure = self._trouble(UPLOAD, what, NOT_REACHED, is_silent=True) if what else None
        self.methods.note(UPLOAD, failure)
        if failure is not None:
            raise failure

    def _connected(self) -> WebClient:
        if self._client is None:
            from slack_sdk import WebClient

            self._client = WebClient(
                token=self._token,
                base_url=self._api_url,
                timeout=self._timeout,  # type: ignore[arg-type]  # whole seconds or not
                user_agent_prefix=f"kingdom/{__version__}",
                retry_handlers=[],
                logger=silent_logger(),
            )
            self._client.proxy = None  # urllib finds it by itself, and minds no_proxy, too
        return self._client


def _is_fine(status: int, data: Any) -> bool:
    return status == 200 and isinstance(data, dict) and data.get("ok") is True


def silent_logger() -> logging.Logger:
    """The library logs what it sends and what failed; ours say it, without what is secret."""
    logger = logging.Logger("slack_sdk", level=logging.CRITICAL + 1)
    logger.addHandler(logging.NullHandler())
    return logger


def text_in(raw: Mapping[str, Any], key: str) -> str:
    value = raw.get(key)
    return value if isinstance(value, str) else ""
