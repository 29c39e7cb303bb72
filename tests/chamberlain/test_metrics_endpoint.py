"""The endpoint of the metrics: whoever is slow, silent or one of many harms nobody."""

from __future__ import annotations

import socket
import threading
import urllib.error
import urllib.request

import pytest

from kingdom.chamberlain.metrics_endpoint import Endpoint
from tests.support.kingdom import MovableClock
from tests.support.waiting import eventually


def test_the_silent_and_the_many_hold_nobody_up() -> None:
    clock = MovableClock()
    endpoint = Endpoint(0, lambda: b"x 1\n", clock)
    try:
        silent = [socket.create_connection(("127.0.0.1", endpoint.port), 30) for _ in range(40)]
        # Those beyond the limit are turned away, and the others when their time is over.
        eventually(lambda: sum(_is_over(one) for one in silent) >= 24, "the surplus is turned away")
        clock.advance(6)
        eventually(lambda: all(_is_over(one) for one in silent), "all are hung up on")
        for one in silent:
            one.close()
        with urllib.request.urlopen(endpoint.address, timeout=30) as answer:
            assert answer.read() == b"x 1\n"
    finally:
        endpoint.close()
    assert not endpoint.is_alive()


def test_a_reader_that_does_not_read_is_hung_up_on_and_the_rest_served() -> None:
    clock, large = MovableClock(), b"x" * 30_000_000
    endpoint = Endpoint(0, lambda: large, clock)
    try:
        with socket.create_connection(("127.0.0.1", endpoint.port), 30) as lazy:
            lazy.sendall(b"GET /metrics HTTP/1.1\r\n\r\n")
            with urllib.request.urlopen(endpoint.address, timeout=60) as answer:
                assert len(answer.read()) == len(large)
            clock.advance(6)
            eventually(lambda: len(endpoint._clients) == 0, "it is hung up on")
    finally:
        endpoint.close()


def test_many_who_ask_at_once_cost_one_look() -> None:
    looks: list[int] = []

    def render() -> bytes:
        looks.append(1)
        return b"x 1\n"

    endpoint = Endpoint(0, render, MovableClock())
    try:
        threads = [threading.Thread(target=_fetch, args=(endpoint,)) for _ in range(8)]
        for one in threads:
            one.start()
        for one in threads:
            one.join()
    finally:
        endpoint.close()
    assert len(looks) == 1


def test_what_cannot_be_read_is_no_end_of_it() -> None:
    def render() -> bytes:
        raise OSError(5, "Input/output error")

    endpoint = Endpoint(0, render, MovableClock())
    try:
        for _ in range(2):
            with pytest.raises(urllib.error.HTTPError, match="503"):
                urllib.request.urlopen(endpoint.address, timeout=30)
    finally:
        endpoint.close()


def _fetch(endpoint: Endpoint) -> None:
    with urllib.request.urlopen(endpoint.address, timeout=30) as answer:
        answer.read()


def _is_over(way: socket.socket) -> bool:
    way.settimeout(0)
    try:
        return way.recv(1) == b""
    except BlockingIOError:
        return False
    except ConnectionResetError:
        return True
