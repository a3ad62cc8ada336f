"""Which protocol, which parameters, how many people, how much privacy: the first question of every study."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..checks import choice, integer, positive
from ..domains import Domain, as_domains
from ..errors import BadParameter
from ..statistics import STATISTICS, Kernel, Statistic
from ..statistics import statistic as statistic_named
from ..study import Study
from ..theory import MAX_PEOPLE
from . import shapes
from .options import Option, options
from .shapes import Shape

MOST_EPSILON = 32.0
STEPS = 40
CLOSE = 0.002
"""How near the target a solution comes."""


@dataclass(frozen=True)
class Plan:
    """The options for a study, the best first, and why."""

    statistic: Statistic
    options: tuple[Option, ...]
    solved: str
    """What was asked for: "error", "n" or "epsilon"."""
    shape: str
    sampling: float
    """The standard error without any privacy, of as many people as the best option has."""
    shapes: tuple[Shape, ...]

    @property
    def domains(self) -> tuple[Domain, ...]:
        """Where the values lie."""
        return self.shapes[0].domains

    @property
    def best(self) -> Study:
        """The recommended study."""
        return self.options[0].study

    @property
    def why(self) -> str:
        """One sentence."""
        first, *others = self.options
        what = {
            "error": f"has the smallest predicted standard error, {first.error:.3g}",
            "n": f"needs the fewest people, {sum(first.sizes.values()):,}",
            "epsilon": f"needs the least epsilon, {first.study.epsilon:.3g}",
        }[self.solved]
        if not others:
            return f"{first.protocol} is the only protocol that fits, and {what}."
        second = others[0]
        than = {
            "error": f"{second.protocol} has {second.error:.3g}",
            "n": f"{second.protocol} needs {sum(second.sizes.values()):,}",
            "epsilon": f"{second.protocol} needs {second.study.epsilon:.3g}",
        }[self.solved]
        return f"{first.protocol} {what}; {than}."

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        return {
            "statistic": self.statistic.name,
            "solved_for": self.solved,
            "people_like": self.shape,
            "error_without_privacy": self.sampling,
            "why": self.why,
            "options": [each.to_json() for each in self.options],
        }


def plan(
    statistic: str | Statistic,
    *,
    domain: Domain | Sequence[Domain] | None = None,
    epsilon: float | None = None,
    n: int | Mapping[str, int] | None = None,
    error: float | None = None,
    rounds: int = 2,
    peers: bool = False,
    like: Any = None,
    **chosen: Any,
) -> Plan:
    """Compare all protocols that fit, and solve for what is missing of ``epsilon``, ``n`` and ``error``.

    ``n`` is the number of people, or by stratum {"positive": ..., "negative": ...}. ``rounds=1`` leaves
    two-round protocols out, ``peers=True`` lets people compute in pairs. ``like`` says what the people may
    look like: nothing, or "worst", for the worst of several shapes, "even" for an even spread, a number for
    two normal classes with that AUC, a mapping of strata to shares of cells, or a table of data of some
    people.

    >>> from dpairs import Levels
    >>> made = plan("kendall_tau", domain=(Levels(range(6)),) * 2, epsilon=1.0, n=200_000)
    >>> made.options[0].protocol
    'projection'
    """
    own = STATISTICS[statistic][1] if isinstance(statistic, str) and statistic in STATISTICS else ()
    unknown = sorted(set(chosen) - set(own))
    if unknown:
        raise BadParameter(f"a plan has no option {', '.join(map(repr, unknown))}")
    made = statistic_named(statistic, **chosen)
    if isinstance(n, Mapping) and len(n) == 1 == len(made.strata):
        n = next(iter(n.values()))
    if isinstance(made, Kernel) and domain is None:
        domain = made.domain
    domains = as_domains(domain)
    made.check_domains(domains)
    integer("rounds", rounds, 1, 2)
    missing = [name for name, value in (("epsilon", epsilon), ("n", n), ("error", error)) if value is None]
    if len(missing) == 3 or (len(missing) == 2 and error is None) or (not missing):
        raise BadParameter("a plan needs two of epsilon, n and error, and solves for the third")
    if len(missing) == 2:
        raise BadParameter(f"a plan for an error needs {' or '.join(missing)} as well")
    given = _shapes(made, domains, like)
    name = f"the worst of {len(given)} shapes" if len(given) > 1 else given[0].name
    ask = _Question(made, domains, given, rounds, peers)
    solved = missing[0]
    if solved == "error":
        found = ask.options(positive("epsilon", epsilon), _sizes(made, n))
        sizes = _sizes(made, n)
    elif solved == "n":
        found = ask.people(positive("epsilon", epsilon), positive("error", error))
        sizes = found[0].sizes
    else:
        sizes = _sizes(made, n)
        found = ask.privacy(sizes, positive("error", error))
    if not found:
        raise BadParameter(f"no protocol fits {made.name} on these domains with {rounds} round(s)")
    without = max(shape.scale * math.sqrt(shape.sampling(sizes)) for shape in given)
    return Plan(made, tuple(found), solved, name, without, tuple(given))


@dataclass(frozen=True)
class _Question:
    statistic: Statistic
    domains: tuple[Domain, ...]
    shapes: list[Shape]
    rounds: int
    peers: bool

    def options(self, epsilon: float, sizes: Mapping[str, int], only: str | None = None) -> list[Option]:
        return options(
            self.statistic, self.domains, self.shapes, epsilon, sizes, self.rounds, self.peers, only
        )

    def only(self, protocol: str, epsilon: float, sizes: Mapping[str, int]) -> Option | None:
        return next(iter(self.options(epsilon, sizes, protocol)), None)

    def people(self, epsilon: float, error: float) -> list[Option]:
        """For each protocol, the people needed; the fewest first."""
        start = self.options(epsilon, _sizes(self.statistic, 10_000))
        found = []
        for each in start:
            option: Option | None = each
            for _ in range(STEPS):
                if option is None or abs(option.error / error - 1) < CLOSE:
                    break
                count = sum(option.sizes.values()) * (option.error / error) ** 2
                if count > MAX_PEOPLE:
                    option = None
                    break
                option = self.only(each.protocol, epsilon, _sizes(self.statistic, max(4, math.ceil(count))))
            if option is not None and option.error <= error * 1.02:
                found.append(option)
        if not found:
            raise BadParameter(f"no number of people brings the standard error down to {error:g} here")
        return sorted(found, key=lambda each: sum(each.sizes.values()))

    def privacy(self, sizes: Mapping[str, int], error: float) -> list[Option]:
        """For each protocol, the least epsilon; the least first."""
        floor = max(shape.scale * math.sqrt(shape.sampling(sizes)) for shape in self.shapes)
        if error <= floor:
            n = sum(sizes.values())
            more = math.ceil(n * (floor / error) ** 2 * 1.1)
            raise BadParameter(
                f"without any privacy {n:,} people have a standard error of {floor:.3g}, so {error:.3g} is "
                f"out of reach: ask for more than that, or have {more:,} people"
            )
        found = []
        for each in self.options(1.0, sizes):
            best = self._least_epsilon(each, error)
            if best is not None:
                found.append(best)
        if not found:
            raise BadParameter(
                f"no epsilon up to {MOST_EPSILON:g} brings the error of these people down to {error:g}"
            )
        return sorted(found, key=lambda each: each.study.epsilon)

    def _least_epsilon(self, start: Option, error: float) -> Option | None:
        """By halving the logarithm's bracket, and guessing that the error falls as 1 / epsilon."""
        low, high, best, guess = 1e-3, MOST_EPSILON, None, start.study.epsilon * start.error / error
        for _ in range(STEPS):
            middle = guess if low < guess < high else math.sqrt(low * high)
            option = self.only(start.protocol, middle, start.sizes)
            if option is not None and option.error <= error:
                best, high = option, middle
                if option.error > error * (1 - CLOSE):
                    break
            else:
                low = middle
            if high / low < 1 + CLOSE:
                break
            guess = middle * (option.error / error if option is not None else 2.0)
        return best


def _sizes(statistic: Statistic, n: Any) -> dict[str, int]:
    """People by stratum: as given, or in equal parts."""
    strata = statistic.strata
    if isinstance(n, Mapping):
        if set(n) != set(strata):
            raise BadParameter(f"n must give the people of {', '.join(strata)}")
        return {name: integer(f"n of {name}", n[name], 2, MAX_PEOPLE) for name in strata}
    total = integer("n", n, 2 * len(strata), MAX_PEOPLE)
    return {name: total // len(strata) + (place < total % len(strata)) for place, name in enumerate(strata)}


def _shapes(statistic: Statistic, domains: tuple[Domain, ...], like: Any) -> list[Shape]:
    if like is None:
        return shapes.hard(statistic, domains)
    if isinstance(like, str):
        choice("like", like, ("even", "worst"))
        return shapes.hard(statistic, domains) if like == "worst" else [shapes.even(statistic, domains)]
    if isinstance(like, (int, float)) and not isinstance(like, bool):
        return [shapes.normals(statistic, domains, like)]
    if isinstance(like, Mapping) and set(like) == set(statistic.strata):
        return [shapes.from_masses(statistic, domains, like)]
    return [shapes.from_sample(statistic, domains, like)]
