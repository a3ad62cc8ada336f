"""A small study, a kernel for one, and files of studies that were changed."""

import json
from typing import Any

import numpy as np

from dpairs import Interval, Kernel, Study
from dpairs.formats.canonical import canonical, digest

UNIT = Interval(0, 1)


def small(**options):
    return Study.create(
        "auc", **{"epsilon": 1.0, "domain": UNIT, "bins": 4, "mechanism": "krr", "seed": 1, **options}
    )


def distance(label="distance", domain=UNIT):
    return Kernel(lambda a, b: np.abs(a - b), range=(0, 1), lipschitz=1.0, domain=domain, label=label)


def signed(content: dict[str, Any]) -> str:
    """A study's text whose id belongs to its contents."""
    content = {name: value for name, value in content.items() if name != "id"}
    return canonical({**content, "id": digest(content)})


def forged(study: Study, *path: Any, value: Any) -> str:
    """The text of ``study`` with one field replaced and the id made to fit."""
    content = json.loads(study.to_json())
    place = content
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    return signed(content)
