"""Messages between the two of a pair, sealed so that the collector relays what it cannot read.

X25519 between the two devices' keys, a key for each message by HKDF, ChaCha20-Poly1305. The nonce follows
from the key and the text, so the same message is sealed into the same bytes, which may be sent again, and
two different ones never share a nonce.

The collector hands out the partners' public keys. One that deals false ones could sit between the two, unless
they compare fingerprints before they begin: each reads out that of the own key, the other sees that of the
key which was dealt. A fingerprint is of one key alone, so a key that passes for another takes 2^132 attempts;
one number made of both keys would let somebody between choose two keys until they collide, in 2^66 or fewer.
"""

from __future__ import annotations

import hashlib
import hmac

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from ..errors import BadMessage, WrongPartner

NONCE = 12
DIGITS = 40
"""Of a fingerprint: 10^40 is more than 2^132."""


def public_key(secret: bytes) -> bytes:
    """The public key of a secret one."""
    return X25519PrivateKey.from_private_bytes(secret).public_key().public_bytes_raw()


def fingerprint(key: bytes) -> str:
    """Forty digits of the hash of a public key, to be compared by people."""
    number = int.from_bytes(hashlib.sha256(b"dpairs fingerprint 1/" + key).digest(), "big") % 10**DIGITS
    digits = f"{number:0{DIGITS}d}"
    return " ".join(digits[place : place + 5] for place in range(0, DIGITS, 5))


class SealedChannel:
    """Seals and opens the messages of one pair, for one of the two."""

    def __init__(self, secret: bytes, partner: bytes, study: str, pair: int) -> None:
        self._mine = public_key(secret)
        self._partner = partner
        self._about = b"dpairs seal 1/" + bytes.fromhex(study) + pair.to_bytes(8, "big")
        try:
            mine = X25519PrivateKey.from_private_bytes(secret)
            self._shared = mine.exchange(X25519PublicKey.from_public_bytes(partner))
        except ValueError:
            raise WrongPartner("the partner's public key cannot be used") from None

    def __repr__(self) -> str:
        return "SealedChannel()"

    def close(self, kind: str, text: bytes) -> bytes:
        """SealedChannel a message of that kind for the partner."""
        key = self._key(kind, self._mine, self._partner)
        nonce = hmac.new(key, text, hashlib.sha256).digest()[:NONCE]
        return nonce + ChaCha20Poly1305(key).encrypt(nonce, text, self._about + kind.encode())

    def open(self, kind: str, sealed: bytes) -> bytes:
        """Open a message of that kind from the partner."""
        key = self._key(kind, self._partner, self._mine)
        try:
            return ChaCha20Poly1305(key).decrypt(sealed[:NONCE], sealed[NONCE:], self._about + kind.encode())
        except (InvalidTag, ValueError):
            raise BadMessage(
                f"the {kind} was not sealed by the partner whose key this device knows"
            ) from None

    def _key(self, kind: str, sender: bytes, receiver: bytes) -> bytes:
        about = self._about + kind.encode() + b"/" + sender + receiver
        return HKDF(SHA256(), 32, None, about).derive(self._shared)
