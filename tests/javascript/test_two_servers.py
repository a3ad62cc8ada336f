"""A browser refuses two-server studies whose numbers do not keep what they promise, as Python does."""

import json
import subprocess
from typing import Any

import pytest

from dpairs import Integers, Interval, Study
from dpairs.errors import InvalidInput

from ..studies import signed
from .program import ROOT, node

AUC = Study.create("auc", protocol="two_servers", epsilon=2.0, domain=Interval(0, 1), bins=40, n=2000, seed=1)
TAU = Study.create(
    "kendall_tau",
    protocol="two_servers",
    epsilon=2.0,
    domain=(Interval(0, 1),) * 2,
    bins=[40, 40],
    n=300,
    seed=1,
)
COUNTS = Study.create(
    "gini_mean_difference",
    protocol="two_servers",
    release="counts",
    epsilon=2.0,
    domain=Integers(0, 9),
    seed=1,
)
GAUSSIAN: dict[str, Any] = {"noise": "gaussian", "delta": 1e-9}
BAD: list[tuple[Study, dict[str, Any]]] = [
    (AUC, {"weights": [1024, 1024, 1024]}),
    (AUC, {"weights": [1024] * 50}),
    (AUC, {"weights": []}),
    (TAU, {"weights": [704, 64, 257]}),
    *((AUC, {"split": split}) for split in (5, -1, 1, 0.001)),
    (AUC, {"near": False}),
    (COUNTS, {"near": False}),
    (COUNTS, {"weights": [512, 512]}),
    (COUNTS, {"bins": [4096]}),
    *((AUC, {"noise": "laplace", "delta": delta}) for delta in (0.1, 1e-30)),
    *((AUC, {"noise": "gaussian", "delta": delta}) for delta in (0, -1e-9, 0.5, 1)),
]


def changed(study: Study, changes: dict[str, Any]) -> str:
    content = json.loads(study.to_json())
    content["protocol"].update(changes)
    content["delta"] = content["protocol"]["delta"]
    return signed(content)


def test_a_browser_refuses_what_python_refuses(tmp_path):
    good = [(AUC, {}), (TAU, {}), (COUNTS, {}), (AUC, GAUSSIAN)]
    texts = [changed(*each) for each in (*good, *BAD)]
    path = tmp_path / "cases.json"
    path.write_text(
        json.dumps(
            {"studies": [], "texts": [text.encode().hex() for text in texts], "reports": [], "lines": []}
        )
    )
    done = subprocess.run(
        [node(), ROOT / "tests" / "javascript" / "cases.mjs", path],
        capture_output=True,
        text=True,
        check=True,
    )
    said = json.loads(done.stdout)["texts"]
    for text, found in zip(texts[: len(good)], said, strict=False):
        Study.from_json(text)
        assert "error" not in found, found
    for (_, changes), text, found in zip(BAD, texts[len(good) :], said[len(good) :], strict=True):
        with pytest.raises(InvalidInput):
            Study.from_json(text)
        assert "error" in found, changes
