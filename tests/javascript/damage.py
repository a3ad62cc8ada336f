"""Studies that are changed, damaged, or written otherwise."""

from __future__ import annotations

import json
import random
from typing import Any

from dpairs import Study
from tests.formats.test_fuzz_parsers import VALUES, every, named


def one_changed(study: Study, rng: random.Random) -> bytes:
    """One field replaced, removed, renamed, or written in another way that means the same."""
    content = json.loads(study.to_json())
    del content["id"]
    box, key = rng.choice(list(every(content)))
    old = box[key]
    near: list[Any] = []
    if isinstance(old, (int, float)):
        near = [old + 1, old - 1, -old, float(old), str(old), old * (1 - 1e-9), old * (1 + 1e-9), 2**53 + 1]
    elif isinstance(old, str):
        near = [old + "0", "0" + old, old[:-1], old.upper(), [old]]
        if old.isdigit():
            near += [str(int(old) + 1), str(int(old) - 1), int(old)]
    elif isinstance(old, list):
        near = [old[:-1], old * 2, old[::-1], [*old, None]]
    action = rng.random()
    if action < 0.1:
        del box[key]
    elif action < 0.15 and isinstance(box, dict):
        box[rng.choice(["which", "self", "name", "comment", "", "\ud800"])] = box.pop(key)
    elif action < 0.6 and near:
        box[key] = rng.choice(near)
    else:
        box[key] = rng.choice(VALUES)
    return named(content).encode()


def otherwise_written(study: Study) -> list[bytes]:
    """Texts with the same meaning, and some that look so."""
    text = study.to_json()
    content = json.loads(text)
    turned = json.dumps(dict(sorted(content.items(), reverse=True)), indent=2)
    return [
        each.encode()
        for each in (
            turned,
            json.dumps(content, ensure_ascii=True),
            f"\ufeff{text}",
            f" \n{text}\t\r ",
            f"{text}x",
            f"\f{text}",
            text.replace('"version":1', '"version":1.0'),
            text.replace('"version":1', '"version":true'),
            text.replace('"version":1', '"version":1e0'),
            text.replace('"version":1', '"version":01'),
            text.replace('"round":1', '"round":1.0'),
            text.replace('"delta":0', '"delta":-0.0'),
            text.replace('"delta":0', '"delta":0e5'),
            text.replace('"delta":0', '"delta":1e999'),
            text.replace('"delta":0', '"delta":NaN'),
            text.replace('"format"', '"for\\u006dat"'),
            text.replace('"format"', '"for\\mat"'),
            text.replace('"format"', '"for\tmat"'),
            text.replace('{"delta"', '{"delta":0,"delta"'),
            text.replace('{"delta"', '{,"delta"'),
            text.replace('"version":1', '"version":' + "1" * 5000),
            text.replace('"version":1', '"version":' + "[" * 300 + "]" * 300),
        )
    ]
