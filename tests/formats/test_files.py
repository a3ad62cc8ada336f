"""Files that are read whole: bounded, and only what is a file."""

from __future__ import annotations

import os
import stat
import threading
from pathlib import Path

import pytest

from dpairs.errors import BadFile
from dpairs.formats import files


def test_a_file_is_read_to_its_limit_and_not_beyond(tmp_path):
    place = tmp_path / "file"
    place.write_bytes(b"x" * 100)
    assert files.read(place, "the file", 100) == b"x" * 100
    with pytest.raises(BadFile, match="is 100 bytes long; at most 99 are read"):
        files.read(place, "the file", 99)


def test_a_link_to_a_file_is_read(tmp_path):
    (tmp_path / "file").write_bytes(b"here")
    (tmp_path / "link").symlink_to(tmp_path / "file")
    assert files.read(tmp_path / "link", "the file") == b"here"


@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="There is no /proc here.")
def test_a_file_that_is_longer_than_it_says_is_cut_off():
    assert Path("/proc/self/maps").stat().st_size == 0
    with pytest.raises(BadFile, match="more than 50 bytes long"):
        files.read("/proc/self/maps", "the file", 50)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="There are no pipes with names here.")
def test_what_never_ends_or_never_comes_is_refused_at_once(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    places = [tmp_path / "pipe", Path("/dev/zero"), Path("/dev/null")]
    said: list[str] = []

    def read() -> None:
        for place in places:
            with pytest.raises(BadFile) as caught:
                files.read(place, "the file")
            said.append(str(caught.value))

    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    reader.join(20)
    assert said == [f"the file {place} cannot be read: it is not a regular file" for place in places]


def test_what_is_not_there_or_has_no_name_is_one_sentence(tmp_path):
    for place in (tmp_path / "nothing", tmp_path, "a\0b"):
        with pytest.raises(BadFile, match="cannot be read") as caught:
            files.read(place, "the file")
        assert "\n" not in str(caught.value)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="There are no pipes with names here.")
def test_a_device_a_pipe_or_a_folder_is_not_replaced(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    link = tmp_path / "link"
    link.symlink_to(pipe)
    for place in (pipe, link, tmp_path):
        with pytest.raises(BadFile, match="cannot be written: it is not a regular file"):
            files.write(place, b"x", "the file")
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    files.write(tmp_path / "new", b"x", "the file")
    files.write(tmp_path / "new", b"y", "the file")
    assert (tmp_path / "new").read_bytes() == b"y"
