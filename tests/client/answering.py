"""What people answer, and the devices of a pair."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dpairs.client import Device, join

from ..collector.people import pairwise

VALUE = {"value": 2}


def pair_of(here: Any, tmp_path: Path, seed: int) -> tuple[str, list[Device]]:
    study = pairwise(seed)
    link = here.analyst().begin(study, "A pair that crashes")
    devices = [Device(tmp_path / f"{seed}-{who}") for who in range(2)]
    for device in devices:
        join(link, {"x": 1, "y": 2}, device=device, transport=here.transport())
    here.analyst().advance(study.id)
    return link, devices
