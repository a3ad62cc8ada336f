"""What a file may name: kinds known by their names, to which a user's own package can add.

A package adds its kinds at run time with `register`, or names them in an entry point of the registry's
group, which is loaded when somebody first asks for that name.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Generic, TypeVar

from ..errors import BadParameter

Kind = TypeVar("Kind", bound=type[Any])


class Registry(Mapping[str, Kind], Generic[Kind]):
    """Classes by their ``name``, which also have the class attributes ``needs``."""

    def __init__(
        self,
        what: str,
        group: str,
        needs: tuple[str, ...] = (),
        refused: Callable[[Kind], str | None] = lambda _: None,
    ) -> None:
        """``refused`` may give another reason not to take a kind."""
        self._what, self._group, self._needs, self._refused = what, group, needs, refused
        self._kinds: dict[str, Kind] = {}

    def register(self, kind: Kind) -> Kind:
        """Add a kind under its ``name``; usable as a decorator. A name that is taken is refused."""
        name = getattr(kind, "name", None)
        if not isinstance(name, str) or not name:
            raise BadParameter(f"a {self._what} needs a name before it can be registered")
        absent = (each for each in self._needs if not hasattr(kind, each))
        missing = ", ".join(sorted((*absent, *getattr(kind, "__abstractmethods__", ()))))
        why = f"it does not say its {missing}" if missing else self._refused(kind)
        if why is not None:
            raise BadParameter(f"the {self._what} {name!r} cannot be registered: {why}")
        if self._kinds.setdefault(name, kind) is not kind:
            raise BadParameter(f"there is a {self._what} named {name!r} already")
        return kind

    @cached_property
    def _installed(self) -> dict[str, EntryPoint]:
        return {entry.name: entry for entry in entry_points(group=self._group)}

    def __getitem__(self, name: str) -> Kind:
        if name not in self._kinds and name in self._installed:
            try:
                loaded = self._installed[name].load()
            except Exception as error:
                raise BadParameter(
                    f"the {self._what} {name!r} cannot be loaded from {self._installed[name].value}, which "
                    f"another package installed: {error}"
                ) from error
            kind = self.register(loaded)
            if kind.name != name:
                raise BadParameter(f"the entry point {name!r} of {self._group} is named {kind.name!r}")
        return self._kinds[name]

    def usable(self) -> Iterator[tuple[str, Kind]]:
        """Every kind with its name; one whose package is broken is left out, with a warning."""
        for name in self:
            try:
                kind = self[name]
            except BadParameter as error:
                warnings.warn(f"left out: {error}", stacklevel=2)
                continue
            yield name, kind

    def __iter__(self) -> Iterator[str]:
        yield from self._kinds
        yield from (name for name in self._installed if name not in self._kinds)

    def __len__(self) -> int:
        return len(list(iter(self)))
