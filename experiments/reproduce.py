"""From names of experiments to a folder with results, pictures and a report."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path

from dpairs import __version__
from dpairs.errors import BadFile
from dpairs.formats import files

from . import sources, style
from .experiment import Check, Experiment
from .report import Section, markdown, page, parts
from .results import Results
from .runner import Scale, jobs, run, workers

Bar = Callable[[str, int], AbstractContextManager[Callable[[int], None]]]
"""Given a title and a total, a context whose value is called with finished steps."""


def no_bar(title: str, total: int) -> AbstractContextManager[Callable[[int], None]]:
    return nullcontext(lambda steps: None)


@dataclass(frozen=True)
class Reproduced:
    folder: Path
    sections: Sequence[Section]

    @property
    def checks(self) -> list[tuple[Section, Check]]:
        """Every statement, with the section that it belongs to."""
        return [(section, check) for section in self.sections for check in section.findings.checks]

    @property
    def skipped(self) -> list[Section]:
        """Experiments that were not run."""
        return [section for section in self.sections if section.skipped]


def reproduce(
    experiments: Sequence[Experiment],
    folder: Path,
    scale: Scale | None = None,
    data: Path | None = None,
    processes: int = 1,
    bar: Bar = no_bar,
) -> Reproduced:
    """Run the experiments and write data, pictures and report into ``folder``.

    Complete results that are there already are used again, and an interrupted run goes on. Experiments
    whose data are not there are left out, and say how to get them. Call this under
    ``if __name__ == "__main__"``.
    """
    scale = scale or Scale()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BadFile(f"the folder {folder} cannot be made: {error.strerror or error}") from None
    place = sources.folder(data)
    sections = []
    with workers(processes) as pool:
        for experiment in experiments:
            absent = sources.missing(experiment.needs, place)
            if absent:
                how = "; ".join(sources.HOW[name] for name in absent)
                sections.append(Section(experiment, skipped=f"To run it, {how}."))
                continue
            with bar(experiment.name, len(jobs(experiment, scale))) as advance:
                found = run(experiment, scale, folder / experiment.name, place or Path(), pool, advance)
            sections.append(shown(experiment, scale, found, folder))
    report = parts(sections, scale.command(*_names(experiments)), __version__)
    files.write(folder / "report.md", markdown(report).encode(), "the report")
    files.write(folder / "report.html", page(report, folder).encode(), "the report")
    return Reproduced(folder, sections)


def _names(experiments: Iterable[Experiment]) -> list[str]:
    """What to type for these: nothing for all of them."""
    from .catalogue import EXPERIMENTS

    names = [each.name for each in experiments]
    return [] if names == [each.name for each in EXPERIMENTS] else names


def shown(experiment: Experiment, scale: Scale, found: Results, folder: Path) -> Section:
    """An experiment's section, and its pictures in its folder."""
    drawn = []
    for picture in experiment.pictures(found):
        style.save(picture.figure, folder / experiment.name, picture.name)
        drawn.append((picture.name, picture.caption))
    judged = experiment.quick_checks or not scale.quick
    return Section(experiment, scale.command(experiment.name), experiment.findings(found), drawn, judged)
