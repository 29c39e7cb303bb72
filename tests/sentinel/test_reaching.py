"""Certificates and proxies between the sentinel and GitHub: what works, and what is said if not."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from kingdom.clients.github_faults import GitHubLater, GitHubRefused
from kingdom.store.paths import BaseDir
from tests.support.certificates import self_signed
from tests.support.forwarding import forwarding
from tests.support.github_scene import Scene
from tests.support.kingdom import MovableClock
from tests.support.notifications import BEGAN, Notifying

PASSWORD = "s3cret/pass"
_VARIABLES = ("HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY", "NO_PROXY")


@pytest.fixture(autouse=True)
def _no_network_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (*_VARIABLES, *map(str.lower, _VARIABLES), "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def make_scene(base: BaseDir) -> Iterator[Callable[..., Scene]]:
    with ExitStack() as stack:

        def make(context: Any = None) -> Scene:
            hub = Notifying()
            if context is not None:
                hub.secure(context)
            stack.enter_context(hub)
            hub.notify(1)
            scene = Scene(base, hub, MovableClock(BEGAN + timedelta(hours=3)))
            stack.callback(scene.close)
            return scene

        yield make


@pytest.fixture
def dead() -> Iterator[str]:
    """Where nobody listens, and nobody will."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield f"127.0.0.1:{taken.getsockname()[1]}"


def trouble(scene: Scene) -> GitHubLater:
    with pytest.raises(GitHubLater) as caught:
        scene.look()
    assert caught.value.undone
    assert PASSWORD not in str(caught.value)
    assert scene.hub.token not in str(caught.value)
    return caught.value


# Certificates


def test_a_certificate_that_nobody_vouches_for_is_named_with_the_remedy(
    make_scene: Callable[..., Scene], scratch: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    context, shown = self_signed(scratch)
    scene = make_scene(context)
    error = trouble(scene)
    assert error.sentence == "The certificate of GitHub is not accepted: self-signed certificate."
    assert "REQUESTS_CA_BUNDLE" in error.remedy
    assert scene.hub.asked == []  # so that the token went nowhere
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(shown))
    assert scene.look() == 1


@pytest.mark.parametrize(
    ("odd", "words", "remedy"),
    [
        ({"until": timedelta(days=-1)}, "certificate has expired", "clock"),
        ({"host": "127.0.0.2"}, "IP address mismatch", "by a host that is in its certificate"),
    ],
)
def test_a_certificate_that_does_not_fit(
    make_scene: Callable[..., Scene],
    scratch: Path,
    monkeypatch: pytest.MonkeyPatch,
    odd: dict[str, Any],
    words: str,
    remedy: str,
) -> None:
    context, shown = self_signed(scratch, **odd)
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(shown))
    error = trouble(make_scene(context))
    assert words in error.sentence
    assert remedy in error.remedy


@pytest.mark.parametrize("content", [None, "not a certificate"])
def test_a_file_of_certificates_that_is_none(
    make_scene: Callable[..., Scene],
    scratch: Path,
    monkeypatch: pytest.MonkeyPatch,
    content: str | None,
) -> None:
    context, _ = self_signed(scratch)
    bundle = scratch / "bundle.pem"
    if content:
        bundle.write_text(content)
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(bundle))
    error = trouble(make_scene(context))
    assert "cannot be read" in error.sentence
    assert "REQUESTS_CA_BUNDLE" in error.remedy


# Proxies


@pytest.mark.parametrize("variable", ["HTTP_PROXY", "ALL_PROXY", "HTTPS_PROXY"])
def test_a_proxy_that_is_not_there_is_named_without_its_password(
    make_scene: Callable[..., Scene],
    scratch: Path,
    monkeypatch: pytest.MonkeyPatch,
    dead: str,
    variable: str,
) -> None:
    scene = make_scene(self_signed(scratch)[0] if variable == "HTTPS_PROXY" else None)
    monkeypatch.setenv(variable, f"http://me:{PASSWORD.replace('/', '%2F')}@{dead}")
    error = trouble(scene)
    assert error.sentence == f"The proxy {dead}, by which GitHub is asked, could not be reached."
    assert variable in error.remedy
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(scratch / "shown.pem"))
    assert scene.look() == 1


def test_an_address_that_is_no_proxy_s(
    make_scene: Callable[..., Scene], monkeypatch: pytest.MonkeyPatch
) -> None:
    scene = make_scene()
    monkeypatch.setenv("HTTP_PROXY", f"http://me:{PASSWORD}@[nowhere")
    assert trouble(scene).sentence == "The proxy [nowhere is not one."


def test_by_way_of_a_proxy(
    make_scene: Callable[..., Scene], monkeypatch: pytest.MonkeyPatch
) -> None:
    scene = make_scene()
    with forwarding() as proxy:
        monkeypatch.setenv("HTTP_PROXY", f"http://{proxy.host}")
        assert scene.look() == 1
        asked = len(proxy.asked)
        assert len(scene.hub.asked) == asked > 0
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        scene.reborn()
        scene.look()
        assert len(proxy.asked) == asked
        scene.close()


def test_by_way_of_a_proxy_that_wants_a_login(
    make_scene: Callable[..., Scene], scratch: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    context, shown = self_signed(scratch)
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(shown))
    scene = make_scene(context)
    with forwarding(login=f"me:{PASSWORD}") as proxy:
        monkeypatch.setenv(
            "HTTPS_PROXY", f"http://me:{PASSWORD[:-1].replace('/', '%2F')}@{proxy.host}"
        )
        error = trouble(scene)
        assert error.sentence == (
            f"The proxy {proxy.host} does not let us through to GitHub: it answers with 407."
        )
        assert "NAME:PASSWORD@HOST:PORT" in error.remedy
        monkeypatch.setenv("HTTPS_PROXY", f"http://me:{PASSWORD.replace('/', '%2F')}@{proxy.host}")
        assert scene.look() == 1
        assert proxy.asked[-1].startswith("CONNECT 127.0.0.1:")
        scene.close()


def test_such_a_proxy_where_nothing_is_encrypted(
    make_scene: Callable[..., Scene], monkeypatch: pytest.MonkeyPatch
) -> None:
    scene = make_scene()
    with forwarding(login=f"me:{PASSWORD}") as proxy:
        monkeypatch.setenv("HTTP_PROXY", f"http://{proxy.host}")
        with pytest.raises(GitHubRefused) as caught:
            scene.look()
        assert "a proxy" in caught.value.remedy
        scene.close()
