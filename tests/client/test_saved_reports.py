"""A collector that lies about where the next reports begin."""

from __future__ import annotations

from typing import Any

import pytest

from dpairs.client import Analyst, Transport
from dpairs.errors import BadFile


class Lying(Transport):
    """Answers every request with the same next place."""

    def __init__(self, following: str) -> None:
        super().__init__("http://localhost")
        self.following, self.asked = following, 0

    def answer(self, *_: Any, **__: Any) -> Any:
        self.asked += 1
        return b"", {"x-next": self.following}


@pytest.mark.parametrize(
    "following",
    ["0.-1", "0.0.0", "/../../x", "..", "a.b", "99999.1", "0." + "9" * 30, "\u0663.\u0663", "0.1\n"],
)
def test_only_a_place_is_taken_for_one(tmp_path, following):
    line = Lying(following)
    with pytest.raises(BadFile, match="no place"):
        Analyst("http://localhost", "token", transport=line).save_reports("0" * 64, tmp_path / "here")
    assert line.asked == 1
    assert not (tmp_path / "here").exists()


def test_parts_go_on_and_end(tmp_path):
    """A collector that names the same place for ever made an endless list."""
    line = Lying("0.5")
    with pytest.raises(BadFile, match="again"):
        Analyst("http://localhost", "token", transport=line).save_reports("0" * 64, tmp_path)
    assert line.asked == 2
    line = Lying("")
    assert len(Analyst("http://localhost", "token", transport=line).save_reports("1" * 64, tmp_path)) == 1
