"""One call on your data: the planner's study, simulated on everybody.

You have the data, so the call protects nobody. It shows what a private study of these people would
answer; `Estimate.study` is that study, ready for real people. Arguments have the order and the names
that scikit-learn and scipy give them.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import wraps
from typing import Any, Literal, ParamSpec, TypeAlias, TypedDict, Unpack

import numpy as np
from numpy.typing import NDArray

from ..data.columns import array_of
from ..data.domains import Categories, Domain, DomainLike, Integers, Interval
from ..data.tables import is_positive, whole
from ..errors import BadParameter, BadValue, NotEnoughData
from ..estimate import Estimate, WithoutPrivacy
from ..formats.checks import choice, did_you_mean
from ..formats.checks import positive as above_zero
from ..simulate import simulate
from ..statistics import Statistic, exact
from ..statistics import statistic as statistic_named
from ..statistics.labels import need_both, positives
from ..statistics.mann_whitney import one_sided
from .plan import plan
from .shapes import from_sample

Trusted: TypeAlias = Literal["nobody", "partner", "two_servers", "all"]
Column: TypeAlias = Any
"""A list, an array, a series of pandas or polars, an Arrow array: one value for each person."""
FROM_DATA = (
    "The domain was taken from the data, which is not private: give domain=(low, high) from what is known "
    "before anybody answers."
)
MOST_CATEGORIES = 4096
ASKED = ("trust", "rounds", "peers", "protocol")
"""What is asked of the plan."""
ELSEWHERE = {"random_state": "seed", "rng": "seed", "pos_label": "positive"}
"""Other packages' names for our keywords."""
P = ParamSpec("P")


class Choices(TypedDict, total=False):
    """What every call takes, apart from its data and epsilon."""

    domain: DomainLike | None
    trust: Trusted | None
    rounds: int
    peers: bool
    protocol: str | None
    seed: int | None


def _as_documented(function: Callable[P, Estimate]) -> Callable[P, Estimate]:
    """The function; arguments that do not fit end in one sentence of ours, not in Python's TypeError."""
    signature, name = inspect.signature(function), function.__name__
    parameters = list(signature.parameters.values())
    data = [each.name for each in parameters if each.kind is each.POSITIONAL_OR_KEYWORD]
    options = {each.name for each in parameters if each.kind is each.KEYWORD_ONLY} | set(
        Choices.__annotations__
    )

    @wraps(function)
    def checked(*arguments: P.args, **keywords: P.kwargs) -> Estimate:
        for given in keywords:
            if given not in options and given not in data:
                meant = ELSEWHERE.get(given)
                near = f"; did you mean {meant!r}?" if meant in options else did_you_mean(given, options)
                said = f"dpairs has no {given} for {name}"
                raise BadParameter(said + (near or f"; it takes {', '.join(sorted(options))}"))
        try:
            signature.bind(*arguments, **keywords)
        except TypeError:
            raise BadParameter(
                f"give {' and '.join(data)}, then epsilon and other options by name: "
                f"dpairs.{name}({', '.join(data)}, epsilon=1)"
            ) from None
        return function(*arguments, **keywords)

    return checked


@_as_documented
def auc(
    y_true: Column,
    y_score: Column,
    *,
    epsilon: float,
    positive: Any = None,
    labels: Literal["public", "private"] = "public",
    ties: Literal["half", "zero"] = "half",
    **choices: Unpack[Choices],
) -> Estimate:
    """The area under the ROC curve, with the arguments of `sklearn.metrics.roc_auc_score`.

    Scores are probabilities; give ``domain=(low, high)`` if they are not. ``positive`` names the positive
    class if labels are not 0 and 1.

    >>> rng = np.random.default_rng(1)
    >>> label = rng.integers(0, 2, 20_000)
    >>> score = np.clip(rng.normal(0.4 + 0.2 * label, 0.15), 0, 1)
    >>> print(f"{auc(label, score, epsilon=1, trust='two_servers', seed=1):.2f}")
    0.83
    """
    table = whole({"label": y_true, "score": y_score}, ("label", "score"))
    table["label"] = _labels(table["label"], positive)
    return _estimate(statistic_named("auc", labels=labels, ties=ties), table, epsilon, choices)


@_as_documented
def mann_whitney(
    x: Column,
    y: Column,
    *,
    epsilon: float,
    alternative: Literal["two-sided", "less", "greater"] = "two-sided",
    labels: Literal["public", "private"] = "public",
    **choices: Unpack[Choices],
) -> Estimate:
    """U of the sample ``x`` against ``y`` and its p-value, with scipy's `mannwhitneyu` arguments."""
    choice("alternative", alternative, ("two-sided", "less", "greater"))
    samples = [whole({name: values}, (name,))[name] for name, values in (("x", x), ("y", y))]
    need_both(samples[0].size, samples[1].size)
    table = {
        "score": np.concatenate(samples),
        "label": np.repeat([True, False], [each.size for each in samples]),
    }
    estimate = _estimate(statistic_named("mann_whitney", labels=labels), table, epsilon, choices)
    if alternative == "two-sided":
        return estimate
    tail = one_sided(estimate.details["z"] if alternative == "greater" else -estimate.details["z"])
    return replace(estimate, details={**estimate.details, "p_value": tail})


@_as_documented
def kendall_tau(
    x: Column,
    y: Column,
    *,
    epsilon: float,
    variant: Literal["a", "b"] = "b",
    **choices: Unpack[Choices],
) -> Estimate:
    """Kendall's tau-b of two columns (or tau-a), with the arguments of `scipy.stats.kendalltau`."""
    return _estimate(
        statistic_named("kendall_tau", variant=variant), whole({"x": x, "y": y}, ("x", "y")), epsilon, choices
    )


@_as_documented
def gini(values: Column, *, epsilon: float, **choices: Unpack[Choices]) -> Estimate:
    """The Gini coefficient: half of the relative mean difference, from 0 to 1."""
    return _one("gini_coefficient", values, epsilon, choices)


@_as_documented
def gini_mean_difference(values: Column, *, epsilon: float, **choices: Unpack[Choices]) -> Estimate:
    """The mean distance between two people's values."""
    return _one("gini_mean_difference", values, epsilon, choices)


@_as_documented
def variance(values: Column, *, epsilon: float, **choices: Unpack[Choices]) -> Estimate:
    """The variance, as `numpy.var` with ``ddof=1``: half of the mean squared distance of two people."""
    return _one("variance", values, epsilon, choices)


@_as_documented
def collision_entropy(values: Column, *, epsilon: float, **choices: Unpack[Choices]) -> Estimate:
    """Rényi's entropy of order 2, in nats: minus the logarithm of how often two people agree."""
    return _one("collision_entropy", values, epsilon, choices)


def _one(name: str, values: Column, epsilon: float, choices: Choices) -> Estimate:
    return _estimate(statistic_named(name), whole({"value": values}, ("value",)), epsilon, choices)


def _estimate(
    statistic: Statistic, table: dict[str, NDArray[Any]], epsilon: float, choices: Mapping[str, Any]
) -> Estimate:
    above_zero("epsilon", epsilon)
    table |= {name: _values(table[name], name) for name in statistic.domain_columns}
    given = choices.get("domain")
    domains, caveats = (given, ()) if given is not None else _domains(statistic, table)
    truth = exact(statistic, table, domain=domains)
    sizes = {name: len(people[0]) for name, people in statistic.split(table)}
    for stratum, size in sizes.items():
        if size < 2:
            raise NotEnoughData(
                f"{statistic.name} needs at least 2 people of each class, and {stratum} has {size}"
            )
    asked = {name: value for name, value in choices.items() if name in ASKED and value is not None}
    planned = plan(statistic, domain=domains, epsilon=epsilon, n=sizes, **asked)
    seed = choices.get("seed")
    study = planned.begin() if seed is None else replace(planned.options[0].study, seed=seed)
    estimate = simulate(study, table, seed=seed)
    shape = from_sample(statistic, planned.domains, table)
    bare = WithoutPrivacy(truth, shape.scale * shape.for_people(sizes) * shape.sampling(sizes) ** 0.5)
    return replace(estimate, caveats=(*caveats, *estimate.caveats), without_privacy=bare)


def _labels(labels: NDArray[Any], positive: Any) -> NDArray[np.bool_]:
    """Which people are positive; a message names the classes that there are."""
    if positive is not None:
        return is_positive(labels, positive)
    try:
        return positives(labels)
    except BadValue:
        classes = list(dict.fromkeys(labels.tolist()))
        if len(classes) == 2:
            raise BadValue(
                f"say which label is the positive class, {classes[0]!r} or {classes[1]!r}, for example "
                f"positive={max(classes, key=str)!r}"
            ) from None
        raise


def _domains(
    statistic: Statistic, table: Mapping[str, NDArray[Any]]
) -> tuple[tuple[Domain, ...], tuple[str, ...]]:
    """[0, 1] where all values lie in it; else what the data spans, and a sentence that says so."""
    spans = [_span(table[name], name, statistic.needs) for name in statistic.domain_columns]
    return tuple(spans), () if all(domain == Interval(0, 1) for domain in spans) else (FROM_DATA,)


def _values(values: NDArray[Any], column: str) -> NDArray[Any]:
    """Words, or numbers as numpy has them: True and False are 1 and 0, and objects may be numbers."""
    if values.dtype.kind == "b":
        return values.astype(np.int8)
    if values.dtype.kind == "S":
        raise BadValue(f"column {column!r} must hold numbers or words, not bytes: decode them first")
    if values.dtype.kind != "O":
        return values
    words = [isinstance(value, str) for value in values.tolist()]
    if any(words) and not all(words):
        row = words.index(False)
        raise BadValue(
            f"column {column!r} mixes words with other values, such as {values[row]!r} at row {row}"
        )
    return values if any(words) else array_of(values, column)


def _span(values: NDArray[Any], column: str, needs: str) -> Domain:
    if values.dtype.kind in "OUT" and values.size:
        words = sorted({str(value) for value in values.tolist()})
        if needs != "discrete":
            wanted = ", or a domain of Levels with the lowest first" if needs == "ordered" else ""
            raise BadValue(f"column {column!r} holds words such as {words[0]!r}, and needs numbers{wanted}")
        if not 2 <= len(words) <= MOST_CATEGORIES:
            raise BadParameter(
                f"give the domain of column {column!r}: a domain from its data needs 2 to {MOST_CATEGORIES} "
                f"different words, and there are {len(words)}"
            )
        return Categories(words)
    if values.size == 0:
        raise BadValue(f"column {column!r} is empty")
    if not np.isfinite(values).all():
        row = int(np.argmin(np.isfinite(values)))
        raise BadValue(
            f"column {column!r} must hold finite numbers, not {values[row].item()!r} as at row {row}"
        )
    low, high = values.min().item(), values.max().item()
    if needs == "discrete":
        if any(value != int(value) for value in (low, high)) or (values != np.floor(values)).any():
            raise BadParameter(
                f"{column} has numbers with fractions, which hardly ever agree: round them first"
            )
        return Integers(int(low), max(int(high), int(low) + 1))
    if low >= 0 and high <= 1:
        return Interval(0, 1)
    return Interval(low, high if high > low else low + 1.0)
