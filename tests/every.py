"""Many small cases as one test: a test of its own costs each case more time than most of them take."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Any


def every(names: str | tuple[str, ...], values: Iterable[Any]) -> Callable[[Callable[..., None]], Any]:
    """Like ``pytest.mark.parametrize``, within one test; an error says which case it is of."""
    parameters = tuple(name.strip() for name in names.split(",")) if isinstance(names, str) else names
    cases = [(value,) if len(parameters) == 1 else tuple(value) for value in values]
    assert cases, f"no case of {names}"

    def decorate(test: Callable[..., None]) -> Any:
        @functools.wraps(test)
        def run(**others: Any) -> None:
            for case in cases:
                given = dict(zip(parameters, case, strict=True))
                try:
                    test(**given, **others)
                except BaseException as error:
                    error.add_note(f"with {given}")
                    raise

        signature = inspect.signature(test)
        assert set(parameters) <= set(signature.parameters), f"{test.__name__} has no {names}"
        others = [each for name, each in signature.parameters.items() if name not in parameters]
        run.__signature__ = signature.replace(parameters=others)  # type: ignore[attr-defined]
        return run

    return decorate
