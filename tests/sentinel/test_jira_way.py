"""What may stand between us and Jira: a proxy, a certificate, a port that speaks otherwise."""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from kingdom.clients.jira import Jira
from kingdom.clients.jira_faults import JiraLater
from tests.support.jira_server import FakeJira
from tests.support.jira_watch import MINE, QUICK, fault_of


@pytest.fixture
def jira() -> Iterator[FakeJira]:
    with FakeJira() as made:
        yield made


def test_a_proxy_that_does_not_answer(jira: FakeJira, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{taken.getsockname()[1]}")
        monkeypatch.setenv("no_proxy", "")
        client = Jira(jira.url, MINE, timeout=QUICK)
        fault = fault_of(client)
        client.close()
    assert isinstance(fault, JiraLater)
    assert "by which Jira is asked, could not be reached" in fault.sentence
    assert "HTTPS_PROXY" in fault.remedy


class _Silent(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()

    def log_message(self, format: str, *arguments: Any) -> None: ...


@pytest.fixture(scope="module")
def self_signed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of somebody whose certificate nobody vouches for."""
    place = tmp_path_factory.mktemp("certificate")
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .sign(key, hashes.SHA256())
    )
    pem, plain = serialization.Encoding.PEM, serialization.NoEncryption()
    key_pem = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, plain)
    (place / "both.pem").write_bytes(key_pem + certificate.public_bytes(pem))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(place / "both.pem")
    server = HTTPServer(("127.0.0.1", 0), _Silent)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    server.handle_error = lambda *_: None  # type: ignore[method-assign, assignment]
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield f"https://localhost:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_certificate_that_nobody_vouches_for(self_signed: str) -> None:
    client = Jira(self_signed, MINE, timeout=QUICK)
    fault = fault_of(client)
    client.close()
    assert isinstance(fault, JiraLater)
    assert fault.sentence.startswith("The certificate of Jira is not accepted: self")
    assert "REQUESTS_CA_BUNDLE" in fault.remedy


def test_https_where_there_is_none(jira: FakeJira) -> None:
    client = Jira(jira.url.replace("http:", "https:"), MINE, timeout=QUICK)
    fault = fault_of(client)
    client.close()
    assert isinstance(fault, JiraLater)
    assert "encrypted connection" in fault.sentence
