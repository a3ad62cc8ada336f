"""A server's keys of HPKE, in its operator's file: the newest is offered, older ones still open reports."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from ..dap.reports import HpkeConfig
from ..errors import BadFile, BadParameter
from ..formats import files
from ..formats.canonical import canonical, parse
from ..formats.checks import integer
from ..randomness import secret_bytes
from ..vdaf.hpke import KEY, derive_key, public_key

FORMAT, VERSION = "dpairs-server-keys", 1
MOST = 16
"""Keys in a file: an id has one byte, and old ones are to be removed."""


@dataclass(frozen=True)
class ServerKeys:
    """Secret keys by their ids, the newest first."""

    secrets: dict[int, bytes] = field(repr=False)

    @property
    def configs(self) -> list[HpkeConfig]:
        """What is offered: the newest key alone."""
        newest = next(iter(self.secrets))
        return [HpkeConfig(newest, public_key(self.secrets[newest]))]

    def rotated(self) -> ServerKeys:
        """The same with a fresh key in front."""
        if len(self.secrets) >= MOST:
            raise BadParameter(
                f"a server keeps at most {MOST} keys: remove those of tasks that were released"
            )
        newest = next(iter(self.secrets), -1)
        name = next(each % 256 for each in range(newest + 1, newest + 257) if each % 256 not in self.secrets)
        return ServerKeys({name: derive_key(secret_bytes()), **self.secrets})

    def save(self, path: Path) -> None:
        listed = [{"id": name, "secret": secret.hex()} for name, secret in self.secrets.items()]
        content = canonical({"format": FORMAT, "version": VERSION, "keys": listed})
        files.write(path, content.encode() + b"\n", "the server's keys", private=True)

    @classmethod
    def load(cls, path: Path) -> ServerKeys:
        spec = parse(files.read(path, "the server's keys"), "the server's keys")
        listed = spec.get("keys")
        if spec.get("format") != FORMAT or spec.get("version") != VERSION or not isinstance(listed, list):
            raise BadFile(f"{path} does not hold a server's keys of version {VERSION}")
        secrets = dict[int, bytes]()
        try:
            for key in listed:
                secrets[integer("a key's id", key["id"], 0, 255)] = bytes.fromhex(key["secret"])
        except (TypeError, KeyError, ValueError):
            raise BadFile(f"each key of {path} has an 'id' and a 'secret' in hexadecimal") from None
        if len(secrets) != len(listed) or not secrets or any(len(each) != KEY for each in secrets.values()):
            raise BadFile(f"{path} must hold at least one key of {KEY} bytes, and no id twice")
        return cls(secrets)


def fresh_keys() -> ServerKeys:
    return ServerKeys({}).rotated()
