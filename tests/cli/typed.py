"""What a statistician types, with which data, and what a careless person is told."""

from pathlib import Path

import numpy as np

from dpairs.cli.app import run

AUC = ["study", "create", "auc", "-e", "1", "-d", "interval:0,1", "--bins", "8", "--seed", "1"]
PROJECTION = ["study", "create", "auc", "--protocol", "projection", "-e", "2", "-d", "levels:1,2,3,4,5"]


def scores(n: int = 4000) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(4)
    label = rng.integers(0, 2, n)
    return np.clip(rng.normal(0.4 + 0.2 * label, 0.15), 0, 1), label


def write_csv(path: Path, score, label) -> None:
    rows = "\n".join(f"{s},{y}" for s, y in zip(score, label, strict=True))
    path.write_text(f"score,label\n{rows}\n")


def said(capsys) -> tuple[str, str]:
    captured = capsys.readouterr()
    return captured.out, captured.err


def refused(capsys, arguments: list[str], *words: str) -> None:
    """Exit code 2 and one sentence that holds the words."""
    capsys.readouterr()
    assert run(arguments) == 2
    out, err = said(capsys)
    assert out == ""
    sentence = " ".join(err.split())
    assert sentence.startswith("error: ")
    assert "Traceback" not in err
    assert err.strip().count("\n") == 0
    for word in words:
        assert word in sentence
