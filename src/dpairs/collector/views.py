"""What is shown of a study: pure functions from what was read to what is answered."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from ..errors import DpairsError
from ..formats.signatures import fingerprint
from ..privacy import PrivacyClaim
from ..protocols.sides import by_sites
from ..study import Study
from . import models
from .estimate_history import Point
from .lifecycle import next_step, step_of
from .live_study import OPEN, LiveStudy
from .sites import site_round


def public(live: LiveStudy, base: str) -> models.PublicStudy:
    """A study for everybody; ``base`` is where people reach the collector."""
    study = live.study
    return models.PublicStudy(
        id=live.id,
        title=live.title,
        question=live.question,
        state=live.state,
        step=step_of(live),
        enrolment=live.enrolment,
        round=study.protocol.round,
        rounds=study.protocol.rounds,
        protocol=study.protocol.name,
        statistic=study.statistic.name,
        strata=list(live.strata),
        columns=list(study.statistic.private_columns),
        study=json.loads(study.to_json()),
        words=models.StudyWords.model_validate(live.words),
        link=f"{base}/take-part/{live.id}",
        claim=study.privacy.to_json(),
        promise=promise(study.privacy),
    )


def promise(claim: PrivacyClaim) -> str:
    """The privacy claim in plain words."""
    odds = np.exp(min(claim.epsilon, 50.0))
    delta = f", except with a chance of {claim.delta:g}" if claim.delta else ""
    trust = claim.trust[:1].upper() + claim.trust[1:]
    if claim.kind in ("record-level", "person-level"):
        return (
            f"What leaves a site would have been at most {odds:.3g} times as likely after {claim.neighbours} "
            f"(epsilon {claim.epsilon:.4g}{delta}). {trust}."
        )
    return (
        f"Whatever your true answer is, what leaves your device would have been at most {odds:.3g} times as "
        f"likely with any other answer (epsilon {claim.epsilon:.4g}{delta}). {trust}."
    )


def summary(live: LiveStudy) -> models.Summary:
    """A line of the analyst's list."""
    study = live.study
    return models.Summary(
        id=live.id,
        title=live.title,
        state=live.state,
        step=step_of(live),
        statistic=study.statistic.name,
        protocol=study.protocol.name,
        epsilon=study.epsilon,
        rounds=study.protocol.rounds,
        enrolled=sum(live.enrolled.values()),
        reports=sum(sum(each.reports) for each in live.rounds),
        created=live.created,
    )


def progress(
    live: LiveStudy, base: str, histories: Sequence[Sequence[Point]], pairs: dict[str, int] | None
) -> models.Progress:
    """All that an analyst watches: ``histories`` are the estimate's, by round; ``pairs`` how they stand."""
    estimate: dict[str, Any] | None = None
    why_not: str | None = None
    try:
        estimate = live.now.estimate().to_json()
    except DpairsError as error:
        why_not = str(error)
    stages = []
    for stage, points in zip(live.rounds, histories, strict=False):  # a round may have begun since
        stages.append(
            models.Stage(
                number=stage.study.protocol.round,
                study=stage.study.id,
                reports=dict(zip(_counted_by(live, stage.study), stage.reports, strict=True)),
                asked=_asked(live, stage.study),
                history=[(point.reports, point.at, point.value, point.low, point.high) for point in points],
            )
        )
    return models.Progress(
        study=public(live, base),
        expected=live.expected,
        enrolled=live.enrolled,
        stages=stages,
        pairs=pairs,
        sites=_sites(live) if live.of_sites else None,
        estimate=estimate,
        why_not=why_not,
        next_step=next_step(live),
        learns=learns(live),
    )


def _counted_by(live: LiveStudy, study: Study) -> Iterable[str]:
    return live.enrolled if live.of_sites else study.strata


def _sites(live: LiveStudy) -> list[models.SiteProgress]:
    """Each site by its name: what it answered, where it is missing, and what was refused."""
    rounds = [site_round(each) for each in live.rounds]
    rows = []
    for site in sorted(live.sites.values(), key=lambda each: each.name):
        states: list[Any] = []
        for asked in rounds:
            over = asked is not live.now or live.state != OPEN
            if site.name in asked.kept:
                states.append("answered")
            elif states and states[-1] != "answered":
                states.append("not asked")
            else:
                states.append("dropped out" if over else "waiting")
        kept = [each.kept[site.name] for each in rounds if site.name in each.kept]
        rows.append(
            models.SiteProgress(
                name=site.name,
                fingerprint=fingerprint(site.key),
                records=kept[0].numbers.sizes if kept else None,
                rounds=states,
                refused=sum(each.refused for each in kept),
            )
        )
    return rows


def _asked(live: LiveStudy, study: Any) -> dict[str, int]:
    """Of those enrolled, how many a round asks; in a study of rounds, by the share of each block of 64."""
    if live.of_sites:
        first = live.rounds[0]
        return live.enrolled if study is first.study else {"sites": first.reports[0]}
    asked = {}
    for place, name in enumerate(live.strata):
        enrolled = live.next_index[place]
        if live.of_pairs or study.protocol.rounds == 1 or enrolled == 0:
            asked[name] = enrolled
            continue
        sample = min(enrolled, 2**16)
        share = study.asks_all(name, np.arange(sample))
        asked[name] = round(float(share.mean()) * enrolled) if enrolled > sample else int(share.sum())
    return asked


def learns(live: LiveStudy) -> list[tuple[str, str]]:
    """Who learns what, in words for the page."""
    if live.of_pairs:
        return [
            ("the partner", "nothing: the result can be read by the collector alone"),
            ("the collector", "one noisy symbol for each pair, and who was paired with whom"),
            ("the analyst", "how often each symbol came up"),
        ]
    if live.of_sites:
        hidden = by_sites(live.study).unit.hide_sizes
        sizes = "numbers with noise from each site" + ("" if hidden else ", and how many records it has")
        pilot = "the rough picture of the first round" if live.study.protocol.rounds > 1 else "nothing"
        return [
            ("the site", "its own records, to which it adds noise once for all of them"),
            ("the collector and the analyst", sizes),
            ("other sites", pilot),
        ]
    return [
        ("the collector", "one randomized symbol of each participant, and the public class, if any"),
        ("the analyst", "how often each symbol came up"),
        (
            "other participants",
            "nothing but the study"
            + (", and the rough picture of its first round" if live.study.protocol.rounds > 1 else ""),
        ),
    ]
