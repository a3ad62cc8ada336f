"""What is computed: one file for each statistic, with its exact value and its forms on cells."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..data.columns import comparable, distant, finite
from ..data.domains import Domain, DomainLike, as_domains
from ..data.tables import whole, with_columns
from ..errors import BadFile, BadParameter
from ..formats.checks import choice, fields
from ..formats.registry import Registry
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
    "domains_of",
    "exact",
    "exact_details",
    "option_names",
    "register_statistic",
    "statistic",
    "statistic_from_json",
    "whole_kernel",
]

STATISTICS: Registry[type[Statistic]] = Registry(
    "statistic", "dpairs.statistics", ("columns", "exact", "forms", "against")
)
"""Every statistic known by name. A package adds its own by `register_statistic`, or by an entry point."""
register_statistic = STATISTICS.register
for _kind in (
    AUC,
    MannWhitney,
    KendallTau,
    GiniMeanDifference,
    GiniCoefficient,
    Variance,
    CollisionEntropy,
    VUS,
):
    register_statistic(_kind)
_CARRIED: dict[str, type[Statistic]] = {kind.name: kind for kind in (TabulatedKernel, NamedKernel)}
"""What a study carries of a custom kernel: known to files, and to nobody by name."""


def statistic(which: str | Statistic, /, **options: Any) -> Statistic:
    """The statistic of that name with these options; a `Kernel` is its own.

    >>> statistic("kendall_tau", variant="b")
    KendallTau(variant='b')
    """
    if isinstance(which, Statistic):
        fields(f"a given {which.name}", options, ())
        return whole_kernel(which)
    kind = STATISTICS[choice("statistic", which, STATISTICS)]
    fields(f"statistic {kind.name!r}", options, kind.option_names())
    return kind(**options)


def whole_kernel(chosen: Statistic) -> Statistic:
    """What can be computed; refuse the name of a kernel."""
    if not hasattr(chosen, "forms"):
        raise BadParameter("this is only the name of a kernel, as second rounds carry it: give the Kernel")
    return chosen


def statistic_from_json(spec: Any) -> Statistic:
    """Read a statistic back from its JSON form."""
    if not isinstance(spec, Mapping):
        raise BadFile(f"a statistic must be a JSON object, not {type(spec).__name__}")
    name = spec.get("name", "")
    carried = _CARRIED.get(name) if isinstance(name, str) else None
    return (carried or STATISTICS[choice("statistic", name, STATISTICS)]).from_json(spec)


def option_names(which: str | Statistic) -> tuple[str, ...]:
    """The options that go with a statistic's name; none for a statistic object."""
    return STATISTICS[which].option_names() if isinstance(which, str) and which in STATISTICS else ()


def domains_of(chosen: Statistic, domain: DomainLike | None) -> tuple[Domain, ...]:
    """The given domains, or the statistic's own."""
    if chosen.own_domain is None:
        return as_domains(domain)
    if domain is not None and as_domains(domain) != chosen.own_domain:
        raise BadParameter("a Kernel has a domain of its own; another one cannot be given with it")
    return chosen.own_domain


def exact(
    which: str | Statistic,
    data: Any,
    /,
    *,
    domain: DomainLike | None = None,
    columns: Mapping[str, str] | None = None,
    positive: Any = None,
    **options: Any,
) -> float:
    """The statistic of all values, without privacy, in O(n log n) (a custom kernel: O(n^2)).

    ``domain`` is needed only for levels that are strings; when given, the values are checked against it.
    ``columns`` and ``positive`` are those of `simulate`.

    >>> exact("auc", {"score": [0.1, 0.4, 0.35, 0.8], "label": [0, 0, 1, 1]})
    0.75
    """
    chosen = statistic(which, **options)
    if not hasattr(chosen, "exact"):
        raise BadParameter("a study carries no kernel's function: call dpairs.exact with the Kernel itself")
    return chosen.exact(_prepared(chosen, with_columns(data, chosen.columns, columns, positive), domain))


def exact_details(
    which: str | Statistic,
    data: Any,
    /,
    *,
    domain: DomainLike | None = None,
    columns: Mapping[str, str] | None = None,
    positive: Any = None,
    **options: Any,
) -> dict[str, float]:
    """Further exact figures: z and p of Mann-Whitney, the collision probability behind an entropy.

    >>> exact_details("collision_entropy", {"value": ["a", "b", "a"]})
    {'collision_probability': 0.3333333333333333}
    """
    chosen = statistic(which, **options)
    return chosen.exact_details(
        _prepared(chosen, with_columns(data, chosen.columns, columns, positive), domain)
    )


def _prepared(chosen: Statistic, data: Any, domain: DomainLike | None) -> dict[str, Any]:
    table = whole(data, chosen.columns)
    if chosen.own_domain is not None:
        domains_of(chosen, domain)
        return table
    if domain is None:
        check = {"discrete": comparable, "numeric": distant}.get(chosen.needs, finite)
        return {name: values if name == "label" else check(values, name) for name, values in table.items()}
    domains = as_domains(domain)
    chosen.check_domains(domains, points=True)
    for name, own in zip(chosen.domain_columns, domains, strict=True):
        table[name] = own.check(table[name], name)
    return table
