"""Why a server was not reached, in words that tell what to do about it.

What the libraries raise holds the whole request, the token too, and a proxy's address may hold a
password: nothing but words leaves this module.
"""

from __future__ import annotations

import re
import ssl
from collections.abc import Iterator
from dataclasses import dataclass

from kingdom.words.harmless import harmless

_PLACE = "where the kingdom is started"
_NO_CERTIFICATES = "NO_CERTIFICATE_OR_CRL_FOUND"
_TUNNEL = re.compile(r"Tunnel connection failed: (\d{3})")
_LONGEST_NAME = 100
_WRONG_TIME, _WRONG_HOST = (9, 10), (62, 64)  # as OpenSSL numbers what it has against one
_PROXY_REMEDY = (
    "HTTPS_PROXY, HTTP_PROXY or ALL_PROXY names it: correct that "
    f"{_PLACE}, or except the host with NO_PROXY."
)


@dataclass(frozen=True)
class Unreached:
    sentence: str
    remedy: str = ""
    undone: bool = False  # for certain: nothing was sent


class TookTooLong(OSError):
    """Something came all the time, and never came to an end."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"no end within {seconds:g} seconds")
        self.seconds = seconds


def why_unreached(error: OSError, name: str, url: str) -> Unreached:
    """What such an exception means when `url` was asked, which people know as `name`."""
    if isinstance(error, TookTooLong):
        return Unreached(
            f"{name} did not answer to the end within {error.seconds:g} seconds.",
            f"It is asked again; look whether the network or a proxy before {name} is very slow.",
        )
    return (
        _certificate(error, name)
        or _proxy(error, name, url)
        or _encryption(error, name)
        or Unreached(f"{name} could not be reached, or did not answer: {type(error).__name__}.")
    )


def _certificate(error: OSError, name: str) -> Unreached | None:
    for cause in _causes(error):
        if isinstance(cause, ssl.SSLCertVerificationError):
            said = cause.verify_message.rstrip(".")
            sentence = f"The certificate of {name} is not accepted: {said}."
            return Unreached(sentence, _certificate_remedy(cause.verify_code, name), undone=True)
        if "CA certificate bundle" in str(cause) or _NO_CERTIFICATES in str(cause):
            return Unreached(
                f"The certificates to know {name} by cannot be read.",
                "REQUESTS_CA_BUNDLE or CURL_CA_BUNDLE names no file of certificates: correct or "
                f"unset it {_PLACE}.",
                undone=True,
            )
    return None


def _encryption(error: OSError, name: str) -> Unreached | None:
    if not any(isinstance(cause, ssl.SSLError) for cause in _causes(error)):
        return None
    return Unreached(
        f"The encrypted connection to {name} failed before its certificate was shown.",
        f"Look whether the address of {name} in config/ begins with https for good reason.",
        undone=True,
    )


def _certificate_remedy(code: int, name: str) -> str:
    if code in _WRONG_TIME:
        return "Set this machine's clock; if it is right, the server needs another certificate."
    if code in _WRONG_HOST:
        return f"Name {name} in config/ by a host that is in its certificate."
    return (
        "If it is your company's own, set REQUESTS_CA_BUNDLE to the file with the certificate of "
        f"its authority {_PLACE}."
    )


def _proxy(error: OSError, name: str, url: str) -> Unreached | None:
    from requests.exceptions import InvalidSchema, InvalidURL, ProxyError
    from requests.utils import get_environ_proxies, select_proxy

    address = select_proxy(url, get_environ_proxies(url, no_proxy=None))
    if not address or not isinstance(error, ProxyError | InvalidURL | InvalidSchema):
        return None
    proxy = _without_password(address)
    if not isinstance(error, ProxyError):
        return Unreached(f"The proxy {proxy} is not one.", _PROXY_REMEDY, undone=True)
    answers = (_TUNNEL.search(str(cause)) for cause in _causes(error))
    status = next((found[1] for found in answers if found), "")
    if not status:
        sentence = f"The proxy {proxy}, by which {name} is asked, could not be reached."
        return Unreached(sentence, _PROXY_REMEDY, undone=True)
    remedy = _PROXY_REMEDY
    if status == "407":
        remedy = f"It wants a login: name it as http://NAME:PASSWORD@HOST:PORT {_PLACE}."
    sentence = f"The proxy {proxy} does not let us through to {name}: it answers with {status}."
    return Unreached(sentence, remedy, undone=True)


def _without_password(address: str) -> str:
    host = address.rpartition("://")[2].rpartition("@")[2].rstrip("/")
    return harmless(host)[:_LONGEST_NAME]


def _causes(error: BaseException) -> Iterator[BaseException]:
    """What led to what was raised, itself first."""
    found: BaseException | None = error
    while found is not None:
        yield found
        found = found.__cause__ or found.__context__
