"""A message that one public key can open: HPKE (RFC 9180) in base mode, single shot, with associated data.

DHKEM(X25519, HKDF-SHA256), HKDF-SHA256, AES-128-GCM: 0x0020, 0x0001, 0x0001, the suite of DAP. The
primitives are those of the package ``cryptography``, which has no associated data in its own HPKE.

>>> secret = derive_key(bytes(32))
>>> sealed = seal(public_key(secret), b"share for server 0", b"task, time", b"input share", bytes(range(32)))
>>> open_sealed(secret, b"share for server 0", b"task, time", sealed)
b'input share'
"""

from __future__ import annotations

import hashlib
import hmac
from typing import Any

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from ..errors import BadMessage, BadParameter

KEY = 32
"""Bytes of a secret key, a public key, an encapsulated key, and of the randomness of one message."""
TAG = 16
OVERHEAD = KEY + TAG
"""Bytes that a sealed message has more than its text."""
LONGEST = 2**30
"""Bytes of a text at most; the cipher's own limit is not far above."""
_KEM_SUITE = b"KEM" + (0x0020).to_bytes(2, "big")
_SUITE = b"HPKE" + b"".join(number.to_bytes(2, "big") for number in (0x0020, 0x0001, 0x0001))


def derive_key(material: Any) -> bytes:
    """The secret key that follows from 32 or more random bytes (DeriveKeyPair)."""
    _bytes("the random bytes of a key", material)
    if len(material) < KEY:
        raise BadParameter(f"a key is derived from at least {KEY} random bytes, not {len(material)}")
    pseudorandom = _extract(_KEM_SUITE, b"", b"dkp_prk", material)
    return _expand(_KEM_SUITE, pseudorandom, b"sk", b"", KEY)


def public_key(secret: Any) -> bytes:
    """The public key of a secret one."""
    return _private(secret).public_key().public_bytes_raw()


def seal(recipient: Any, info: bytes, associated: bytes, text: bytes, material: bytes) -> bytes:
    """The encapsulated key and the ciphertext. ``material``: 32 fresh random bytes for this message alone."""
    if not isinstance(recipient, bytes) or len(recipient) != KEY:
        raise BadMessage(f"a public key is {KEY} bytes")
    _bytes("what the message is for", info)
    _bytes("what the message belongs to", associated)
    _bytes("the text", text)
    if len(text) > LONGEST:
        raise BadParameter(f"the text has at most {LONGEST} bytes, not {len(text)}")
    secret = derive_key(material)
    encapsulated = public_key(secret)
    key, nonce = _schedule(_shared(secret, recipient, encapsulated + recipient), info)
    return encapsulated + AESGCM(key).encrypt(nonce, text, associated)


def open_sealed(secret: bytes, info: bytes, associated: bytes, sealed: Any) -> bytes:
    """The text, or `BadMessage` if anything of it was altered or belongs elsewhere."""
    if not isinstance(sealed, bytes) or not OVERHEAD <= len(sealed) <= LONGEST + OVERHEAD:
        raise BadMessage(f"a sealed message is {OVERHEAD} to {LONGEST + OVERHEAD} bytes")
    _bytes("what the message is for", info)
    _bytes("what the message belongs to", associated)
    encapsulated = sealed[:KEY]
    try:
        shared = _shared(secret, encapsulated, encapsulated + public_key(secret))
        key, nonce = _schedule(shared, info)
        return AESGCM(key).decrypt(nonce, sealed[KEY:], associated)
    except InvalidTag:
        raise BadMessage("a sealed message was altered, or is for another key, purpose or occasion") from None


def _bytes(what: str, given: Any) -> None:
    if not isinstance(given, bytes):
        raise BadParameter(f"{what} must be bytes, not {type(given).__name__}")


def _private(secret: Any) -> X25519PrivateKey:
    if not isinstance(secret, bytes) or len(secret) != KEY:
        raise BadParameter(f"a secret key is {KEY} bytes")
    return X25519PrivateKey.from_private_bytes(secret)


def _shared(secret: bytes, other: bytes, context: bytes) -> bytes:
    """The shared secret of the key encapsulation (ExtractAndExpand)."""
    try:
        exchanged = _private(secret).exchange(X25519PublicKey.from_public_bytes(other))
    except ValueError:  # a point of small order, which gives zero
        raise BadMessage("a public key of small order cannot be used") from None
    return _expand(
        _KEM_SUITE, _extract(_KEM_SUITE, b"", b"eae_prk", exchanged), b"shared_secret", context, KEY
    )


def _schedule(shared: bytes, info: bytes) -> tuple[bytes, bytes]:
    """Key and nonce of the one message (KeySchedule in mode_base)."""
    context = b"\x00" + _extract(_SUITE, b"", b"psk_id_hash", b"") + _extract(_SUITE, b"", b"info_hash", info)
    secret = _extract(_SUITE, shared, b"secret", b"")
    return _expand(_SUITE, secret, b"key", context, 16), _expand(_SUITE, secret, b"base_nonce", context, 12)


def _extract(suite: bytes, salt: bytes, label: bytes, material: bytes) -> bytes:
    return hmac.digest(salt, b"HPKE-v1" + suite + label + material, hashlib.sha256)


def _expand(suite: bytes, key: bytes, label: bytes, info: bytes, length: int) -> bytes:
    """HKDF-Expand for at most one block of SHA-256, which all uses here are."""
    labelled = length.to_bytes(2, "big") + b"HPKE-v1" + suite + label + info
    return hmac.digest(key, labelled + b"\x01", hashlib.sha256)[:length]
