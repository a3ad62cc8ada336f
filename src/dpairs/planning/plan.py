"""Which protocol, which parameters, how many people, how much privacy: the first question of every study."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Unpack

from ..data.domains import Domain, DomainLike
from ..data.tables import with_columns
from ..errors import BadParameter
from ..formats.checks import boolean, choice, did_you_mean, integer
from ..formats.checks import positive as above_zero
from ..formats.display import Shown
from ..mechanisms.optimize import optimize
from ..protocols import PROTOCOLS, FirstRound, Trust
from ..protocols.histogram.search import Search
from ..protocols.options import StatisticOptions
from ..protocols.shape import Shape
from ..protocols.theory import MAX_PEOPLE
from ..statistics import Statistic, domains_of, option_names
from ..statistics import statistic as statistic_named
from ..study import Study
from . import rehearse, shapes
from .options import FACTS, SOMETIMES, Option, Question
from .sample import Sample
from .solve import LEAST_EPSILON, MOST_EPSILON, equal_parts, people, privacy, without_privacy

if TYPE_CHECKING:
    from matplotlib.figure import Figure

HARD = "worst"
MANY = 100_000
"""People that a study is chosen for where nobody says how many there are."""
TRUSTED = {
    "nobody": {Trust.NOBODY},
    "partner": {Trust.PARTNER},
    "two_servers": {Trust.TWO_SERVERS},
    "sites": {Trust.SITES},
    "all": set(Trust) - {Trust.SITES},
}
"""Whom people may be asked to trust, beside nobody."""


@dataclass(frozen=True, repr=False, eq=False)
class Plan(Shown):
    """The options for a study, the best first, and why."""

    question: Question

    statistic: Statistic
    options: tuple[Option, ...]
    solved: str
    """What was asked for: "error", "n" or "epsilon"."""
    shape: str
    sampling: float
    """The standard error without any privacy, of as many people as the best option has."""
    shapes: tuple[Shape, ...]
    left_out: dict[str, str]
    """Why other protocols do not fit, by their names."""

    def begin(self) -> Study:
        """The recommended study, with a fresh public seed: one plan may begin several."""
        return self.options[0].begin()

    def __repr__(self) -> str:
        return f"Plan({self.statistic.name}: {self.why})"

    @property
    def title(self) -> str:
        return f"{self.statistic.name}, planned for {self.shape}"

    def rows(self) -> list[tuple[str, ...]]:
        """The options side by side, a column each: a table."""
        facts = [(name, *[fact(option) for option in self.options]) for name, fact in FACTS]
        head = ("", *[option.protocol for option in self.options])
        return [head] + [row for row in facts if row[0] not in SOMETIMES or set(row[1:]) != {"-"}]

    def notes(self) -> list[str]:
        """Why the first option comes first, and what was left out, in sentences."""
        left = [f"{name} is left out: {why.rstrip('.')}." for name, why in self.left_out.items()]
        told = [(each.protocol, each.rehearsal) for each in self.options if each.rehearsal is not None]
        often = [f"{name}: {each.told.rstrip('.')}." for name, each in told if not each.reliable]
        simulated = [
            f"Errors are those of {each.runs} simulated studies of people drawn from the data, and one "
            f"standard error ({each.accuracy:.0%}) more."
            for _, each in told[:1]
        ]
        read = [
            f"The error of {each.protocol} is that of tally.estimate(estimator={each.estimator!r})."
            for each in self.options
            if each.estimator is not None
        ]
        bare = f"Without any privacy the standard error would be {self.sampling:.3g}."
        return [self.why, *simulated, bare, *read, *often, *left]

    def plot(self, progress: Callable[[int], None] | None = None) -> Figure:
        """Predicted errors of all options against the number of people, and against epsilon."""
        from .curves import plan_curves

        return plan_curves(self.question, self.options[0], self.title, progress)

    @property
    def domains(self) -> tuple[Domain, ...]:
        return self.shapes[0].domains

    @cached_property
    def best(self) -> Study:
        """The recommended study, with a public seed of its own."""
        return self.options[0].begin()

    @property
    def why(self) -> str:
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

    @property
    def by_trust(self) -> dict[str, Option]:
        """The best option for each kind of trust, the least trust first."""
        order = [kind.value for kind in Trust]
        best: dict[str, Option] = {}
        for option in self.options:
            best.setdefault(option.trust, option)
        return dict(sorted(best.items(), key=lambda pair: order.index(pair[0])))

    def to_dict(self) -> dict[str, Any]:
        """`to_json` under the name that data frames use."""
        return self.to_json()

    def to_json(self) -> dict[str, Any]:
        return {
            "statistic": self.statistic.name,
            "solved_for": self.solved,
            "people_like": self.shape,
            "error_without_privacy": self.sampling,
            "why": self.why,
            "left_out": self.left_out,
            "options": [each.to_json() for each in self.options],
        }


def plan(
    statistic: str | Statistic,
    *,
    domain: DomainLike | None = None,
    epsilon: float | None = None,
    n: int | Mapping[str, int] | None = None,
    error: float | None = None,
    rounds: int = 2,
    peers: bool = False,
    trust: str | None = None,
    protocol: str | None = None,
    sites: int | None = None,
    optimized: bool = False,
    like: Any = None,
    columns: Mapping[str, str] | None = None,
    positive: Any = None,
    progress: Callable[[int], None] | None = None,
    search: Search | None = None,
    **chosen: Unpack[StatisticOptions],
) -> Plan:
    """Compare all protocols that fit; compute the one of ``epsilon``, ``n`` and ``error`` that is missing.

    ``n`` is the number of people, or by stratum {"positive": ..., "negative": ...}. ``rounds=1`` leaves out
    two-round protocols, ``peers=True`` lets people compute in pairs, and ``trust`` says whom people may
    have to trust ("nobody", "partner", "two_servers", "sites" or "all"); with "two_servers" the study is
    theirs. ``protocol`` picks one.
    ``sites`` is the number of sites that hold the records; without it, "all" does not include sites.
    ``optimized=True`` also searches for a mechanism that suits the kernel, which takes seconds the first time
    (``progress`` is called with numbers of steps; your own ``search`` may remember results). ``like`` says
    how the values may be distributed: "worst", the default, for the worst of several shapes; "even" for an
    even spread; a number for two normal classes with that AUC; a mapping of strata to shares of cells; a
    table of some people's data (with ``columns`` and ``positive`` as in `simulate`); or a `Shape`. With
    data, the studies that formulas favour are simulated on people drawn from it, always with the same
    seeds, and the errors of these runs decide; ``progress`` is then called after each run.

    >>> from dpairs import Levels
    >>> made = plan("kendall_tau", domain=(Levels(range(6)),) * 2, epsilon=1.0, n=200_000)
    >>> made.options[0].protocol
    'projection'
    """
    unknown = sorted(set(chosen) - set(option_names(statistic)))
    if unknown:
        known = (*(plan.__kwdefaults__ or ()), *option_names(statistic))
        raise BadParameter(
            f"a plan of this statistic has no option {', '.join(map(repr, unknown))}"
            f"{did_you_mean(unknown[0], known)}"
        )
    made = statistic_named(statistic, **chosen)
    if isinstance(n, Mapping) and len(n) == 1 == len(made.strata):
        n = next(iter(n.values()))
    domains = domains_of(made, domain)
    made.check_domains(domains, points=True)
    integer("rounds", rounds, 1, 2)
    boolean("peers", peers)
    if protocol is not None:
        choice("protocol", protocol, PROTOCOLS)
        if PROTOCOLS[protocol].rounds > rounds:
            raise BadParameter(
                f"{protocol} takes two rounds: ask with rounds=2, or for histogram, which takes one"
            )
    missing = [name for name, value in (("epsilon", epsilon), ("n", n), ("error", error)) if value is None]
    if len(missing) == 3 or (len(missing) == 2 and error is None) or (not missing):
        raise BadParameter("a plan needs two of epsilon, n and error, and solves for the third")
    if len(missing) == 2:
        raise BadParameter(f"a plan for an error needs {' or '.join(missing)} as well")
    loss = None if epsilon is None else _loss(epsilon)
    sizes = None if n is None else _sizes(made, n)
    goal = None if error is None else above_zero("error", error)
    data = with_columns(like, made.columns, columns, positive)
    sample = _sample(made, domains, data)
    given = _shapes(made, made.placed(domains), data) if sample is None else (sample.shape,)
    # Who has two servers asks for them: a study that needs none would be another plan.
    trusted = (set() if trust == "two_servers" else {Trust.NOBODY}) | ({Trust.PARTNER} if peers else set())
    if trust is not None:
        trusted |= TRUSTED[choice("trust", trust, TRUSTED)]
        trusted |= {Trust.SITES} if trust == "all" and sites is not None else set()
    if protocol is not None:
        trusted.add(PROTOCOLS[protocol].trust)
    ask = Question(
        made,
        domains,
        given,
        rounds,
        frozenset(trusted),
        optimized,
        search or partial(optimize, progress=progress),
        None if sites is None else integer("sites", sites, 1, MAX_PEOPLE),
        sample,
    )
    _check_fits(ask, protocol)
    offered, left = _offered(ask, loss, sizes, goal, protocol, progress or (lambda steps: None))
    if not offered:
        reasons = "; ".join(f"{name}: {why}" for name, why in left.items())
        often = " in one round" if rounds == 1 else ""
        raise BadParameter(reasons or f"no protocol fits {made.name} on these domains{often}")
    name = f"the worst of {len(given)} shapes" if len(given) > 1 else given[0].name
    bare = without_privacy(ask, offered[0].sizes)
    return Plan(ask, made, tuple(offered), missing[0], name, bare, given, left)


def _offered(
    ask: Question,
    loss: float | None,
    sizes: dict[str, int] | None,
    goal: float | None,
    only: str | None,
    advance: Callable[[int], None],
) -> tuple[list[Option], dict[str, str]]:
    """The best options, by the errors of simulated studies where people's data is known."""
    if goal is None:
        given, count = loss or 0.0, sizes or {}
        if ask.sample is None:
            return ask.options(given, count, only)
        return rehearse.options(ask, ask.sample, given, count, only, advance)

    def solved(one: str | None, error: float) -> list[Option]:
        return privacy(ask, sizes or {}, error, one) if loss is None else people(ask, loss, error, one)

    def cost(option: Option) -> float:
        return option.study.epsilon if loss is None else sum(option.sizes.values())

    first = solved(only, goal)
    if ask.sample is None:
        return first, {}
    options, left = rehearse.confirmed(ask.sample, first, goal, solved, advance)
    return rehearse.in_order(options, cost), left


def _chosen(statistic: Statistic, domains: tuple[Domain, ...], epsilon: float, n: int | None) -> FirstRound:
    """What `Study.create` takes where no protocol is named: the plan's best for these people.

    Where nobody says how many there are, a protocol of one round, which people answer as they come.
    """
    own = statistic.own_domain is not None
    option = plan(
        statistic,
        domain=None if own else domains,
        epsilon=min(max(epsilon, LEAST_EPSILON), MOST_EPSILON),
        n=MANY if n is None else n,
        rounds=1 if n is None else 2,
    ).options[0]
    return PROTOCOLS[option.protocol].create(statistic, domains, epsilon, **option.parameters)


Study.chooser = staticmethod(_chosen)


def _loss(epsilon: Any) -> float:
    loss = above_zero("epsilon", epsilon)
    if not LEAST_EPSILON <= loss <= MOST_EPSILON:
        raise BadParameter(
            f"a plan needs an epsilon from {LEAST_EPSILON:g}, where answers say nothing, to "
            f"{MOST_EPSILON:g}, where they hide nothing, not {loss:g}"
        )
    return loss


def _check_fits(ask: Question, protocol: str | None) -> None:
    """Refuse a protocol that cannot compute the statistic, with one that can."""
    if protocol is None:
        return
    few = equal_parts(ask.statistic, 10_000)
    options, left = ask.options(1.0, few, protocol)
    if not options:
        others = [each.protocol for each in replace(ask, rounds=2, optimized=False).options(1.0, few)[0]]
        why = left.get(protocol) or f"{protocol} does not compute {_described(ask.statistic)}"
        able = f"; {' and '.join(sorted(others))} can compute {_described(ask.statistic)}" if others else ""
        raise BadParameter(f"{why.rstrip('.')}{able}")


def _described(statistic: Statistic) -> str:
    labels = getattr(statistic, "labels", None)
    return f"{statistic.name} with {labels} labels" if labels == "private" else statistic.name


def _sizes(statistic: Statistic, n: Any) -> dict[str, int]:
    """People by stratum: as given, or in equal parts."""
    strata = statistic.strata
    if isinstance(n, Mapping):
        if set(n) != set(strata):
            raise BadParameter(f"n must give the people of {', '.join(strata)}")
        return {name: integer(f"n of {name}", n[name], 2, MAX_PEOPLE) for name in strata}
    return equal_parts(statistic, integer("n", n, 2 * len(strata), MAX_PEOPLE))


def _sample(statistic: Statistic, domains: tuple[Domain, ...], like: Any) -> Sample | None:
    """The people whose data was given; None where a shape was, or nothing."""
    if isinstance(like, Sample):
        if like.statistic != statistic or like.domains != domains:
            raise BadParameter("this sample belongs to another statistic or other domains")
        return like
    described = like is None or isinstance(like, (Shape, str, int, float))
    if described or (isinstance(like, Mapping) and set(like) == set(statistic.strata)):
        return None
    return Sample.of(statistic, domains, like)


def _shapes(statistic: Statistic, domains: tuple[Domain, ...], like: Any) -> tuple[Shape, ...]:
    if like is None:
        like = HARD
    if isinstance(like, Shape):
        if like.statistic != statistic or like.domains != domains:
            raise BadParameter("this shape belongs to another statistic or other domains")
        return (like,)
    if isinstance(like, str):
        choice("like", like, ("even", HARD))
        known = shapes.hard if like == HARD else shapes.even_alone
        return known(statistic, domains)
    if isinstance(like, (int, float)) and not isinstance(like, bool):
        return (shapes.normals(statistic, domains, like),)
    return (shapes.from_masses(statistic, domains, like),)
