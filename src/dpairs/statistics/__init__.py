"""What is computed: one file for each statistic, with its exact value and its forms on cells."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..data.domains import Domain, as_domains, comparable, finite
from ..data.tables import whole
from ..errors import BadFile, BadParameter
from ..formats.checks import choice, fields
from .auc import AUC
from .base import EVERYBODY, KERNELS, ErrorOf, Finished, Form, Statistic
from .entropy import CollisionEntropy
from .gini import GiniCoefficient, GiniMeanDifference
from .kendall import KendallTau
from .kernel import Kernel
from .linear import Linear, Masses
from .mann_whitney import MannWhitney
from .named import NamedKernel
from .tabulated import TabulatedKernel
from .variance import Variance
from .vus import VUS

__all__ = [
    "AUC",
    "EVERYBODY",
    "KERNELS",
    "VUS",
    "CollisionEntropy",
    "ErrorOf",
    "Finished",
    "Form",
    "GiniCoefficient",
    "GiniMeanDifference",
    "KendallTau",
    "Kernel",
    "Linear",
    "MannWhitney",
    "Masses",
    "NamedKernel",
    "Statistic",
    "TabulatedKernel",
    "Variance",
    "exact",
    "exact_details",
    "statistic",
    "statistic_from_json",
]

STATISTICS: dict[str, tuple[type[Statistic], tuple[str, ...]]] = {
    "auc": (AUC, ("ties", "labels")),
    "mann_whitney": (MannWhitney, ("ties", "labels")),
    "kendall_tau": (KendallTau, ("variant",)),
    "gini_mean_difference": (GiniMeanDifference, ()),
    "gini_coefficient": (GiniCoefficient, ()),
    "variance": (Variance, ()),
    "collision_entropy": (CollisionEntropy, ()),
    "vus": (VUS, ("ties",)),
}
"""Every statistic known by name, with the options it takes."""


def statistic(which: str | Statistic, /, **options: Any) -> Statistic:
    """The statistic of that name with these options; a `Kernel` is its own.

    >>> statistic("kendall_tau", variant="b")
    KendallTau(variant='b')
    """
    if isinstance(which, Statistic):
        fields(f"a given {which.name}", options, ())
        return which
    name = choice("statistic", which, STATISTICS)
    kind, allowed = STATISTICS[name]
    fields(f"statistic {name!r}", options, allowed)
    return kind(**options)


def statistic_from_json(spec: Any) -> Statistic:
    """Read a statistic back from its JSON form."""
    if not isinstance(spec, Mapping):
        raise BadFile(f"a statistic must be a JSON object, not {type(spec).__name__}")
    if spec.get("name") == TabulatedKernel.name:
        return TabulatedKernel.from_json(spec)
    if spec.get("name") == NamedKernel.name:
        return NamedKernel.from_json(spec)
    return statistic(spec.get("name", ""), **{key: value for key, value in spec.items() if key != "name"})


def exact(
    which: str | Statistic, data: Any, /, *, domain: Domain | Sequence[Domain] | None = None, **options: Any
) -> float:
    """The statistic of all values, without privacy, in O(n log n) (a custom kernel: O(n^2)).

    ``domain`` is needed only for levels that are strings; when given, the values are checked against it.

    >>> exact("auc", {"score": [0.1, 0.4, 0.35, 0.8], "label": [0, 0, 1, 1]})
    0.75
    """
    chosen = statistic(which, **options)
    return chosen.exact(_prepared(chosen, data, domain))


def exact_details(
    which: str | Statistic, data: Any, /, *, domain: Domain | Sequence[Domain] | None = None, **options: Any
) -> dict[str, float]:
    """Further exact figures: z and p of Mann-Whitney, the collision probability behind an entropy.

    >>> exact_details("collision_entropy", {"value": ["a", "b", "a"]})
    {'collision_probability': 0.3333333333333333}
    """
    chosen = statistic(which, **options)
    return chosen.exact_details(_prepared(chosen, data, domain))


def _prepared(chosen: Statistic, data: Any, domain: Domain | Sequence[Domain] | None) -> dict[str, Any]:
    table = whole(data, chosen.columns)
    if isinstance(chosen, Kernel):
        if domain is not None and as_domains(domain) != chosen.domain:
            raise BadParameter("a Kernel has a domain of its own; another one cannot be given with it")
        return table
    if domain is None:
        check = comparable if chosen.needs == "discrete" else finite
        return {name: values if name == "label" else check(values, name) for name, values in table.items()}
    domains = as_domains(domain)
    chosen.check_domains(domains)
    for name, each in zip(chosen.domain_columns, domains, strict=True):
        table[name] = each.check(table[name], name)
    return table
