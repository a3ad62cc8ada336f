"""HPKE against appendix A.1.1 of RFC 9180 (base mode, X25519, HKDF-SHA256, AES-128-GCM); altered bytes."""

import pytest

from dpairs.errors import BadMessage, BadParameter
from dpairs.vdaf import hpke

INFO = bytes.fromhex("4f6465206f6e2061204772656369616e2055726e")
EPHEMERAL = bytes.fromhex("7268600d403fce431561aef583ee1613527cff655c1343f29812e66706df3234")
EPHEMERAL_SECRET = "52c4a758a802cd8b936eceea314432798d5baf2d7e9235dc084ab1b9cfa2f736"
ENCAPSULATED = "37fda3567bdbd628e88668c3c8d7e97d1d1253b6d4ea6d44c150f741f1bf4431"
RECIPIENT = bytes.fromhex("6db9df30aa07dd42ee5e8181afdb977e538f5e1fec8a06223f33f7013e525037")
RECIPIENT_SECRET = "4612c550263fc8ad58375df3f557aac531d26850903e55a9f23f21d8534e8ac8"
RECIPIENT_PUBLIC = "3948cfe0ad1ddb695d780e59077195da6c56506b027329794ab02bca80815c4d"
SHARED = "fe0e18c9f024ce43799ae393c7e8fe8fce9d218875e8227b0187c04e7d2ea1fc"
KEY, NONCE = "4531685d41d65f03dc48f6b8302c05b0", "56d890e5accaaf011cff4b7d"
TEXT = bytes.fromhex("4265617574792069732074727574682c20747275746820626561757479")
ASSOCIATED = bytes.fromhex("436f756e742d30")
CIPHER = "f938558b5d72f1a23810b4be2ab4f84331acc02fc97babc53a52ae8218a355a96d8770ac83d07bea87e13c512a"


def test_keys_are_derived_as_in_the_appendix():
    assert hpke.derive_key(EPHEMERAL).hex() == EPHEMERAL_SECRET
    assert hpke.derive_key(RECIPIENT).hex() == RECIPIENT_SECRET
    assert hpke.public_key(bytes.fromhex(EPHEMERAL_SECRET)).hex() == ENCAPSULATED
    assert hpke.public_key(bytes.fromhex(RECIPIENT_SECRET)).hex() == RECIPIENT_PUBLIC


def test_the_schedule_of_the_appendix():
    context = bytes.fromhex(ENCAPSULATED + RECIPIENT_PUBLIC)
    shared = hpke._shared(bytes.fromhex(EPHEMERAL_SECRET), bytes.fromhex(RECIPIENT_PUBLIC), context)
    assert shared.hex() == SHARED
    assert tuple(part.hex() for part in hpke._schedule(shared, INFO)) == (KEY, NONCE)


def test_the_message_of_the_appendix():
    sealed = hpke.seal(bytes.fromhex(RECIPIENT_PUBLIC), INFO, ASSOCIATED, TEXT, EPHEMERAL)
    assert sealed.hex() == ENCAPSULATED + CIPHER
    assert len(sealed) == len(TEXT) + hpke.OVERHEAD
    assert hpke.open_sealed(bytes.fromhex(RECIPIENT_SECRET), INFO, ASSOCIATED, sealed) == TEXT


def test_any_altered_byte_is_refused():
    secret = bytes.fromhex(RECIPIENT_SECRET)
    sealed = bytes.fromhex(ENCAPSULATED + CIPHER)
    for place in range(len(sealed)):
        altered = bytearray(sealed)
        altered[place] ^= 1
        with pytest.raises(BadMessage):
            hpke.open_sealed(secret, INFO, ASSOCIATED, bytes(altered))
    for wrong in (sealed[:-1], sealed + b"\0", sealed[: hpke.OVERHEAD - 1], b"", None):
        with pytest.raises(BadMessage):
            hpke.open_sealed(secret, INFO, ASSOCIATED, wrong)
    for info, associated in ((INFO + b".", ASSOCIATED), (INFO, ASSOCIATED + b"."), (INFO, b"")):
        with pytest.raises(BadMessage):
            hpke.open_sealed(secret, info, associated, sealed)
    with pytest.raises(BadMessage):
        hpke.open_sealed(hpke.derive_key(bytes(32)), INFO, ASSOCIATED, sealed)


def test_keys_that_cannot_be_used():
    with pytest.raises(BadMessage, match="small order"):
        hpke.seal(bytes(32), b"", b"", b"", bytes(32))
    with pytest.raises(BadMessage, match="32 bytes"):
        hpke.seal(bytes(31), b"", b"", b"", bytes(32))
    with pytest.raises(BadMessage, match="small order"):
        hpke.open_sealed(bytes(range(32)), b"", b"", bytes(32) + bytes(16))
    with pytest.raises(BadParameter):
        hpke.derive_key(bytes(31))
    with pytest.raises(BadParameter):
        hpke.public_key(bytes(31))


@pytest.mark.parametrize("wrong", [None, "x" * 32, [1] * 32, bytearray(32), 5], ids=type)
def test_what_is_not_bytes(wrong):
    secret = bytes(range(32))
    public = hpke.public_key(secret)
    for make in (
        lambda: hpke.derive_key(wrong),
        lambda: hpke.public_key(wrong),
        lambda: hpke.seal(wrong, b"", b"", b"", bytes(32)),
        lambda: hpke.seal(public, wrong, b"", b"", bytes(32)),
        lambda: hpke.seal(public, b"", wrong, b"", bytes(32)),
        lambda: hpke.seal(public, b"", b"", wrong, bytes(32)),
        lambda: hpke.seal(public, b"", b"", b"", wrong),
        lambda: hpke.open_sealed(wrong, b"", b"", public + bytes(16)),
        lambda: hpke.open_sealed(secret, wrong, b"", public + bytes(16)),
        lambda: hpke.open_sealed(secret, b"", wrong, public + bytes(16)),
        lambda: hpke.open_sealed(secret, b"", b"", wrong),
    ):
        with pytest.raises((BadMessage, BadParameter), match="bytes"):
            make()


@pytest.mark.parametrize(
    "point",
    [
        bytes(32),
        bytes([1]) + bytes(31),
        bytes.fromhex("e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800"),
        bytes.fromhex("5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157"),
        *(bytes([low]) + b"\xff" * 30 + b"\x7f" for low in (0xEC, 0xED, 0xEE)),
        bytes(31) + b"\x80",
        bytes([1]) + bytes(30) + b"\x80",
    ],
    ids=bytes.hex,
)
def test_every_point_of_small_order(point):
    """All of them, with both encodings of the two smallest (RFC 7748, section 6.1)."""
    with pytest.raises(BadMessage, match="small order"):
        hpke.seal(point, b"", b"", b"", bytes(32))
    with pytest.raises(BadMessage, match="small order"):
        hpke.open_sealed(bytes(range(32)), b"", b"", point + bytes(16))
