"""What the analyst of a second round keeps of the first: every site's noisy counts, and what follows.

The influence function was made at the pilot g of all sites. Some of them may not come back, so the answer
starts from t, the pilot of those that did: theta(t) + <psi_g, h> - <psi_g, t>. What that misses of theta(h)
is learnt by imagining the first round's noise e again with t as the truth.

Pilots are the noisy shares as they are, some of them below 0: t = h + e. Of a statistic with the kernel A it
misses e'Ae then, whose distribution is that of the noise, whatever the truth is. The nearest distribution to
h + e would lie nearer to h, but it spreads people out over empty cells, always the same way: an error that
adds up over the kernel, while those of independent noise cancel.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...data.domains import Domain
from ...data.grids import Grid
from ...errors import BadFile, NotEnoughData, NotEstimable
from ...formats.canonical import agreed
from ...formats.checks import fields, required
from ...randomness.coins import Coins
from ...statistics import Linear, statistic_from_json
from ...statistics.influence import Influence
from ...statistics.linear import Linearizer, nominal
from ...statistics.vertices import cell_means
from ..projection.analysis import Analysis
from ..projection.divided import Divided
from ..projection.pilot import REPLICATES, Masses, Pilot, PublicNoise, on_simplex
from ..projection.pilot_histogram import cut_cells
from ..projection.remainder import Remainder, allowed_variance
from ..two_servers.coarse import coarsened
from ..two_servers.corrected import with_oneself
from ..two_servers.lines import along_lines
from .by_sites import SiteNumbers
from .counted import NoisyClass, sizes_of
from .hidden import by_standing_out, cut_twice, followed_wrongly, uneven_within
from .numbers import read_answers, write_answers

if TYPE_CHECKING:
    from .pilot_round import SitesPilot

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]
FEW = 8
"""Imagined rounds that show what noise does to merged cells: enough for an allowance."""


class OfThose(NamedTuple):
    """What the sums of some sites are added to."""

    analysis: Analysis
    """The statistic at the pilot of these sites, and how their sums correct it."""
    sizes: dict[str, int]
    hidden: float
    """A bound of what the pilot's cells may hide."""
    divided: Divided | None
    """What a ratio's divisor does."""


@dataclass(frozen=True, eq=False)
class FirstAnswers:
    """The first round, and what each site answered in it."""

    pilot: SitesPilot
    answers: dict[str, SiteNumbers]

    def __post_init__(self) -> None:
        if not self.answers:
            raise NotEnoughData("no site has answered the first round")

    def to_json(self) -> dict[str, Any]:
        return {
            "statistic": self.pilot.statistic.to_json(),
            "protocol": self.pilot.to_json(),
            "answers": write_answers(self.answers),
        }

    @classmethod
    def from_json(cls, domains: tuple[Domain, ...], spec: Any) -> FirstAnswers:
        """Read it back; everything is checked before it is used."""
        from .pilot_round import SitesPilot, read_round

        names = ("statistic", "protocol", "answers")
        if not isinstance(spec, Mapping) or not isinstance(spec.get("protocol"), Mapping):
            raise BadFile("an analysis of a second round of sites holds the first round and its answers")
        fields("an analysis of a second round", spec, names)
        required("an analysis of a second round", spec, names)
        pilot = read_round(statistic_from_json(spec["statistic"]), domains, spec["protocol"])
        if not isinstance(pilot, SitesPilot):
            raise BadFile("an analysis of a second round of sites begins with a first round")
        return cls(pilot, read_answers(pilot, spec["answers"]))

    @cached_property
    def grid(self) -> Grid:
        return cut_cells(self.pilot.grid)

    @cached_property
    def linearizer(self) -> Linearizer:
        return self.pilot.statistic.linearizer(self.grid)

    @cached_property
    def masses(self) -> Masses:
        """The pilot of all sites."""
        return masses_of(self.pilot.classes(self.answers))

    @cached_property
    def influences(self) -> dict[str, tuple[Influence, tuple[float, float]]]:
        """The statistic's derivative at the pilot of all sites, by class, with its range."""
        linear = self._at(self.masses)
        return {name: Influence.of(self.grid, values) for name, values in linear.functions.items()}

    def mean(self, stratum: str) -> float:
        """The function's mean over the pilot, as a share of its range, which noise may take it out of."""
        return agreed(min(max(float(self.influences[stratum][0].cells @ self.masses[stratum]), 0.0), 1.0))

    def _at(self, masses: Masses) -> Linear:
        return self.linearizer.at(masses, nominal(self.pilot.statistic))

    @cached_property
    def _known(self) -> dict[frozenset[str], OfThose]:
        return {}

    def of_those(self, sites: Collection[str], coins: Coins) -> OfThose:
        who = frozenset(sites)
        if who not in self._known:
            self._known[who] = self._of_those(who, coins)
        return self._known[who]

    def _of_those(self, sites: frozenset[str], coins: Coins) -> OfThose:
        statistic = self.pilot.statistic
        here = self.pilot.classes({site: each for site, each in self.answers.items() if site in sites})
        gone = {site: each for site, each in self.answers.items() if site not in sites}
        there = self.pilot.classes(gone) if gone else None
        masses, sizes = masses_of(here), sizes_of(here)
        linear = self._at(masses)
        missed, imagined = self._missed(masses, here, there, PublicNoise(coins))
        extents = [high - low for _, (low, high) in self.influences.values()]
        half_range = max(extents) / (4 if len(extents) == 1 else 2)
        pilot = Pilot(self.grid, {name: on_simplex(each) for name, each in masses.items()}, [])
        variance = allowed_variance(statistic, pilot, float(np.var(missed, ddof=1)), half_range)
        crowd = followed_wrongly(statistic, self.grid, masses, _deviations(here))
        mean = float(np.mean(missed)) + with_oneself(statistic, linear, pilot, sizes)
        remainder = Remainder(agreed(mean), agreed(variance + crowd))
        analysis = Analysis.of(statistic, pilot, linear, self.influences, remainder, sizes, None)
        means = {
            name: agreed(float(influence.cells @ masses[name]))
            for name, (influence, _) in self.influences.items()
        }
        most, divisor = uneven_within(statistic, self.grid, pilot.masses, _deviations(here))
        steep = 1.0
        if statistic.form_count > 1:
            steep = abs(float(statistic.finish(linear.forms, nominal(statistic)).gradient[0]))
        hidden = self._hidden(masses, imagined, here) + steep * most
        again = Pilot(self.grid, masses, imagined)
        seen = replace(remainder, variance=agreed(variance))
        divided = Divided.of(statistic, self.linearizer, linear, again, seen, divisor, crowd)
        return OfThose(replace(analysis, means=means), sizes, hidden, divided)

    def _missed(
        self,
        masses: Masses,
        here: Mapping[str, NoisyClass],
        there: Mapping[str, NoisyClass] | None,
        noise: PublicNoise,
    ) -> tuple[list[float], list[Masses]]:
        """What each imagined first round misses of the pilot of those that came back; and its own pilot."""
        truth = self._at(masses).value
        others = None if there is None else masses_of(there, masses)
        misses, pilots = [], []
        for _ in range(REPLICATES):
            again = {name: _imagined(masses[name], each, noise) for name, each in here.items()}
            whole = again
            if there is not None and others is not None:
                away = {name: _imagined(others[name], each, noise) for name, each in there.items()}
                whole = {name: _together(each, away[name]) for name, each in again.items()}
            try:
                near = masses_of(again)
                seen = self._at(near)
                functions = (seen if whole is again else self._at(masses_of(whole))).functions
                misses.append(truth - seen.value - self._corrections(masses, here, again, whole, functions))
                pilots.append(near)
            except (NotEstimable, NotEnoughData):
                # An imagined pilot at which a ratio has no value tells only that the pilot is poor.
                continue
        if len(misses) < REPLICATES / 2:
            raise NotEstimable("the first round is too noisy for a pilot: more records are needed in it")
        return misses, pilots

    def _hidden(self, masses: Masses, imagined: list[Masses], here: Mapping[str, NoisyClass]) -> float:
        """How far the answer may be moved by records that do not lie evenly within cells.

        Comparisons, and above all those of two columns: see `hidden`. Otherwise merging neighbouring cells
        shows what cells twice as wide miss, and four times as wide, and the larger of the first and a quarter
        of the second is taken. What noise adds is taken off: as much as the same noise, imagined once more,
        adds again.
        """
        grid, statistic = self.pilot.grid, self.pilot.statistic
        if grid.single or statistic.arity > 2:
            return 0.0
        value = self._at(masses).value
        alone = by_standing_out(statistic, self.grid, masses, _deviations(here), value, followed=True)
        if cut_twice(grid) and statistic.needs == "ordered":
            (name,) = masses
            again = [each[name] for each in imagined[:FEW]]
            return alone + along_lines(grid, self._kernel(masses), masses[name], again)
        seen = np.array(self._merged(masses))
        merged = np.mean([self._merged(each) for each in imagined[:FEW]], axis=0)
        once, twice = np.abs(2 * seen - merged)
        return alone + float(max(once, twice / 4))

    def _kernel(self, masses: Masses) -> Matrix:
        """The kernel between cells, in the unit of the influence function."""
        statistic = self.pilot.statistic
        forms = [form.matrix for form in statistic.forms(self.pilot.grid, "average")]
        if len(forms) == 1:
            return forms[0]
        gradient = statistic.finish(self._at(masses).forms, nominal(statistic)).gradient
        return np.asarray(np.tensordot(gradient, np.array(forms), axes=1))

    def _merged(self, masses: Masses) -> tuple[float, float]:
        """What the derivative at merged cells misses of the statistic: once merged, and merged again."""
        misses, before, grid, place = [], masses, self.pilot.grid, np.arange(self.pilot.grid.cells)
        for _ in range(2):
            grid, run = coarsened(grid)
            place = run[place]
            held = np.bincount(place)
            after = {name: (np.bincount(place, each) / held)[place] for name, each in before.items()}
            at = self._at(after)
            linear = sum(
                float(cell_means(self.grid, function) @ (before[name] - after[name]))
                for name, function in at.functions.items()
            )
            misses.append(self._at(before).value - at.value - linear)
            before = after
        return misses[0], misses[1]

    def _corrections(
        self,
        masses: Masses,
        here: Mapping[str, NoisyClass],
        again: Mapping[str, NoisyClass],
        whole: Mapping[str, NoisyClass],
        functions: Mapping[str, Vector],
    ) -> float:
        """<psi, h> - <psi, t> summed over classes; a hidden size divides the sum of psi less its centre."""
        total, near, centres = 0.0, masses_of(again), masses_of(whole)
        for name, function in functions.items():
            means = cell_means(self.grid, function)
            true = float(means @ masses[name])
            if here[name].size is None:
                centre = float(means @ centres[name])
                true = centre + (true - centre) * here[name].counts.sum() / again[name].counts.sum()
            total += true - float(means @ near[name])
        return total


def masses_of(classes: Mapping[str, NoisyClass], instead: Masses | None = None) -> Masses:
    """The nearest distributions; those of ``instead`` where a class has nobody."""
    masses = {}
    for name, noisy in classes.items():
        people = noisy.people
        size = float(people.sum())
        if size > 0:
            masses[name] = people / size
        elif instead is not None:
            masses[name] = instead[name]
        else:
            raise NotEnoughData(f"there are no records of the {name} class, or noise hides them all")
    return masses


def _deviations(classes: Mapping[str, NoisyClass]) -> dict[str, float]:
    """The standard deviation of the noise of one mass."""
    return {name: math.sqrt(each.variance) / float(each.people.sum()) for name, each in classes.items()}


def _imagined(masses: Vector, of: NoisyClass, noise: PublicNoise) -> NoisyClass:
    """Counts of such records, with noise of the same size."""
    size = max(float(of.people.sum()), 0.0)
    counts = size * masses + np.sqrt(of.variance) * noise.normals(masses.size)
    return NoisyClass(counts, of.variance, of.cumulant, of.size)


def _together(one: NoisyClass, other: NoisyClass) -> NoisyClass:
    size = None if one.size is None or other.size is None else one.size + other.size
    return NoisyClass(one.counts + other.counts, one.variance + other.variance, one.cumulant, size)
