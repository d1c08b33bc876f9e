"""Certificates and keys for tests, made afresh."""

import datetime
import ipaddress
from typing import NamedTuple

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

_DAY = datetime.timedelta(days=1)


class Identity(NamedTuple):
    """A key, its certificate, and both as PEM."""

    private_key: ec.EllipticCurvePrivateKey
    certificate: x509.Certificate

    @property
    def key(self):
        return self.private_key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )

    @property
    def chain(self):
        return self.certificate.public_bytes(serialization.Encoding.PEM)


def authority(name="Test CA"):
    """An identity that issues others."""
    return _made(name, None, [(x509.BasicConstraints(ca=True, path_length=None), True)])


def issued(issuer, name, dns=(), ips=(), days=1):
    """An identity that ``issuer`` has issued, good for the given names and so many days more."""
    names = [x509.DNSName(each) for each in dns]
    names += [x509.IPAddress(ipaddress.ip_address(each)) for each in ips]
    extensions = [(x509.SubjectAlternativeName(names), False)] if names else []
    return _made(name, issuer, extensions, days * _DAY)


def _made(name, issuer, extensions, rest=_DAY):
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.datetime.now(datetime.timezone.utc)
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer.certificate.subject if issuer else subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - 2 * _DAY)
        .not_valid_after(now + rest)
    )
    for extension, critical in extensions:
        builder = builder.add_extension(extension, critical)
    signer = issuer.private_key if issuer else key
    return Identity(key, builder.sign(signer, hashes.SHA256()))
