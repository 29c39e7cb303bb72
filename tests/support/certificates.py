"""Certificates that nobody has heard of, made with what PyGithub needs anyway."""

from __future__ import annotations

import ssl
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

_KEY_FORM = (
    serialization.Encoding.PEM,
    serialization.PrivateFormat.PKCS8,
    serialization.NoEncryption(),
)


def self_signed(
    folder: Path, *, host: str = "127.0.0.1", until: timedelta = timedelta(days=1)
) -> tuple[ssl.SSLContext, Path]:
    """For a server at this host; what it shows, and the file that makes others believe it."""
    key, now = ec.generate_private_key(ec.SECP256R1()), datetime.now(UTC)
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "An example")])
    hosts = x509.SubjectAlternativeName([x509.IPAddress(ip_address(host))])
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(days=9))
        .not_valid_after(now + until)
        .add_extension(hosts, critical=False)
        .sign(key, hashes.SHA256())
    )
    shown, secret = folder / "shown.pem", folder / "secret.pem"
    shown.write_bytes(made.public_bytes(serialization.Encoding.PEM))
    secret.write_bytes(key.private_bytes(*_KEY_FORM))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(shown, secret)
    return context, shown
