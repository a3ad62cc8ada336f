"""From experiments to a folder with their rows, pictures and a report; or into the project itself."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

from dpairs import __version__
from dpairs.errors import BadFile
from dpairs.formats import files

from . import sources, style
from .catalogue import FIGURES
from .experiment import Experiment, Figure
from .report import Section, markdown
from .runner import Scale, jobs, run, workers
from .runs import Results

Bar = Callable[[str, int], AbstractContextManager[Callable[[int], None]]]
"""Given a title and a total, a context whose value is called with finished steps."""


def no_bar(title: str, total: int) -> AbstractContextManager[Callable[[int], None]]:
    return nullcontext(lambda steps: None)


def reproduce(
    experiments: Sequence[Experiment],
    folder: Path,
    scale: Scale | None = None,
    data: Path | None = None,
    processes: int = 1,
    bar: Bar = no_bar,
    report: bool = True,
) -> list[Section]:
    """Run the experiments and write their rows, and the pictures and the report of figures, into ``folder``.

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
                if isinstance(experiment, Figure):
                    sections.append(Section(experiment, skipped=f"To run it, {how}."))
                continue
            with bar(experiment.name, len(jobs(experiment, scale))) as advance:
                found = run(experiment, scale, folder, place or Path(), pool, advance)
            if report and isinstance(experiment, Figure):
                sections.append(shown(experiment, scale, found, folder))
    if report:
        names = [each.name for each in experiments]
        asked = [] if names == [each.name for each in FIGURES] else names
        text = markdown(sections, scale.command(*asked), __version__)
        files.write(folder / "report.md", text.encode(), "the report")
    return sections


def shown(experiment: Figure, scale: Scale, results: Results, folder: Path | None) -> Section:
    """An experiment's section; its pictures are written into a folder, where one is given."""
    drawn = []
    for picture in experiment.pictures(results):
        if folder is not None:
            style.save(picture.figure, folder / f"{picture.name}.png")
            style.close(picture.figure)
        drawn.append((picture.name, picture.caption))
    judged = experiment.quick_checks or not scale.quick
    return Section(experiment, scale.command(experiment.name), experiment.findings(results), drawn, judged)
