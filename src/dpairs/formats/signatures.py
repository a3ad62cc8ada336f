"""Ed25519 signatures (RFC 8032), for whoever sends under a name: of the same bytes always the same."""

from __future__ import annotations

import hashlib

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

_PURPOSE = b"dpairs signature 1/"
DIGITS = 20
"""Of a fingerprint, shown in groups of five: another key with the same one takes 2^66 attempts."""


def public_key(secret: bytes) -> bytes:
    """The public key of a secret one."""
    return Ed25519PrivateKey.from_private_bytes(secret).public_key().public_bytes_raw()


def sign(secret: bytes, message: bytes) -> bytes:
    return Ed25519PrivateKey.from_private_bytes(secret).sign(_PURPOSE + message)


def is_signed(key: bytes, message: bytes, signature: bytes) -> bool:
    """Whether the owner of the public key signed the message."""
    try:
        Ed25519PublicKey.from_public_bytes(key).verify(signature, _PURPOSE + message)
    except (InvalidSignature, ValueError):
        return False
    return True


def fingerprint(key: bytes) -> str:
    """Digits of the hash of a public key, to be compared by people."""
    number = int.from_bytes(hashlib.sha256(b"dpairs signer 1/" + key).digest(), "big") % 10**DIGITS
    digits = f"{number:0{DIGITS}d}"
    return " ".join(digits[place : place + 5] for place in range(0, DIGITS, 5))
