"""The paper's figures where other pages show them: the report, splittings, hospital data, hotel ratings."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dpairs import __version__

from ..catalogue import FIGURES
from ..exhibits import PICTURES, TEXTS, results, table
from ..experiment import Figure, Table
from ..limits import OF_NORMAL
from ..paper import beyond, kendall_statements, splitting
from ..paper.auc import ESTIMATORS
from ..report import markdown
from ..reproduce import shown
from ..runner import Scale


def drawn(experiment: Figure) -> Callable[[], Any]:
    def make() -> Any:
        (found,) = experiment.pictures(results(experiment.name))
        return found.figure

    return make


for _each in FIGURES:
    PICTURES[_each.name] = drawn(_each)


def whole_report() -> str:
    sections = [shown(each, Scale(), results(each.name), None) for each in FIGURES]
    return markdown(sections, "make reproduce", __version__, "../figures/")


TEXTS["report"] = whole_report


# ---------------------------------------------------------------- tree


OURS = ("paper", "budget-advanced")


@table("tree_splitting")
def splittings() -> Table:
    """The mean squared error of every splitting on two normals, and how it grows with the depth."""
    squares, rows = results("splitting"), []
    for name, words in ESTIMATORS.items():
        for (data, way, target), (summaries, slope, error) in splitting.fits(squares, name).items():
            if data == "normals":
                order = splitting.bound(way, target) if name == "paper" else None
                whose = "our sum of losses, the paper's estimator" if (name, way) == OURS else words
                cells = [f"{1e6 * each.mean:,.0f} ± {1e6 * each.standard_error:,.0f}" for each in summaries]
                bound = "-" if order is None else f"$\\alpha^{order}$"
                rows.append([f"`{way}`, {whose}, {target}", *cells, f"{slope:.1f} ± {error:.1f}", bound])
    head = [f"MSE·10⁶, $\\alpha$ = {alpha}" for alpha in squares.values("alpha")]
    return Table("", ["splitting, target", *head, "grows as $\\alpha$ to the", "paper's bound"], rows)


@table("tree_depth")
def depth() -> Table:
    """Mean absolute errors at epsilon 1 by depth."""
    errors = results("auc-synthetic-tree").where(epsilon=1.0)
    depths = errors.where(data="ur").values("alpha")
    rows = []
    for data in errors.values("data"):
        for name, words in ESTIMATORS.items():
            part = errors.where(data=data, estimator=name)
            rows.append(
                [f"{data}, {words}", *(f"{part.where(alpha=each).error.mean:.4f}" for each in depths)]
            )
    return Table("", ["data", *(f"$\\alpha$ = {alpha}" for alpha in depths)], rows)


@table("tree_diabetes")
def diabetes() -> Table:
    errors = results("auc-diabetes")
    epsilons = errors.values("epsilon")
    rows = [
        [f"{words}, $d = 2^{{{alpha}}}$", *(_three(name, alpha, epsilon) for epsilon in epsilons)]
        for name, words in ESTIMATORS.items()
        for alpha in errors.values("alpha")[::2]
    ]
    return Table("", ["leaves", *(f"eps {epsilon:g}" for epsilon in epsilons)], rows)


def _three(name: str, alpha: int, epsilon: float) -> str:
    error = results("auc-diabetes").where(estimator=name, alpha=alpha, epsilon=epsilon).error
    return f"{error.mean:.3f} ± {error.standard_error:.3f}"


# ---------------------------------------------------------------- projection


def by_way(data: str) -> Table:
    """All protocols on one set, by epsilon."""
    runs = results("beyond").where(data=data)
    epsilons = runs.values("epsilon")
    rows = [
        [words, *(str(runs.where(way=way, epsilon=epsilon).error) for epsilon in epsilons)]
        for way, words in beyond.WAYS.items()
        if way in runs.values("way") and way != "planned"
    ]
    limits = [runs.where(epsilon=epsilon, way="projection").column("limit").mean() for epsilon in epsilons]
    rows.append(["one bit, pilot known", *(f"{limit:.4f}" for limit in limits)])
    return Table("", ["protocol", *(f"eps {epsilon:g}" for epsilon in epsilons)], rows)


for _name, _set in (("ratings", "ratings"), ("diabetes", "hospital"), ("epsilon", "normals")):
    table(f"projection_{_name}")(lambda data=_set: by_way(data))  # type: ignore[misc]


# ---------------------------------------------------------------- pairs


@table("pairs_ratings")
def ratings() -> Table:
    """Mean absolute errors of Kendall's tau of the hotel ratings."""
    kept = results("kendall-tripadvisor").where(missing="kept")
    epsilons = kept.values("epsilon")
    rows = [
        [
            kendall_statements.words(method, pairs),
            *(f"{kept.where(method=method, pairs=pairs, epsilon=each).error.mean:.4f}" for each in epsilons),
        ]
        for method, pairs in kendall_statements.ways(kept)
    ]
    return Table("", ["", *(f"eps {each:g}" for each in epsilons)], rows)


@table("pairs_best")
def best() -> Table:
    """The theorem's mean absolute error by the number of pairs, with our noise."""
    found = results("kendall-tripadvisor").where(missing="kept", method=kendall_statements.OURS)
    counts = found.values("pairs")
    rows = []
    for epsilon in found.values("epsilon"):
        part = {each: found.where(epsilon=epsilon, pairs=each) for each in counts}
        errors = {each: OF_NORMAL * float(rows_.column("expected")[0]) for each, rows_ in part.items()}
        least = min(errors, key=lambda each: errors[each])
        rows.append([f"{epsilon:g}", str(least), *(f"{error:.5f}" for error in errors.values())])
    return Table("", ["epsilon", "best $P$ of these", *(f"$P = {each}$" for each in counts)], rows)
