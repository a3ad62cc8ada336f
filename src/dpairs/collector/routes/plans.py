"""The planner, for the analyst: how exact each way to run a study would be."""

from __future__ import annotations

import json
from typing import Any

from anyio import to_thread
from fastapi import APIRouter

from ...data.domains import domain_from_json
from ...errors import BadParameter, DpairsError
from ...planning import Plan, plan
from .. import models
from ..bodies import bounded
from ..problems import declared
from . import API, Analyst, of_analyst

PEOPLE = (0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 10.0)
"""Of how many times the people the curve over people is made."""
EPSILONS = (0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
router = APIRouter(prefix=API, tags=["analysts"], route_class=bounded(of_analyst))


@router.post("/plan", responses=declared(401, 422))
async def make_plan(service: Analyst, request: models.PlanRequest) -> models.Planned:
    """Compare all protocols for a study before you ask anybody."""
    async with service.planning:
        return await to_thread.run_sync(_plan, request)


def _plan(request: models.PlanRequest) -> models.Planned:
    try:
        return _planned(request)
    except DpairsError:
        raise
    except (ArithmeticError, ValueError, RecursionError):  # numbers that no study has, such as 1e308
        raise BadParameter("the planner cannot compute with numbers as large or as small as these") from None


def _planned(request: models.PlanRequest) -> models.Planned:
    domains = tuple(domain_from_json(each) for each in request.domain)

    options: dict[str, Any] = {str(name): value for name, value in request.options.items()}

    def ask(epsilon: float | None, people: Any, error: float | None) -> Plan:
        return plan(
            request.statistic,
            domain=domains,
            epsilon=epsilon,
            n=people,
            error=error,
            rounds=request.rounds,
            peers=request.peers,
            like=request.guess,
            **options,
        )

    made = ask(request.epsilon, request.people, request.error)
    return models.Planned(
        **made.to_json(),
        studies={each.protocol: json.loads(each.begin().to_json()) for each in made.options},
        curves=_curves(made, ask) if request.curves else None,
    )


def _curves(chosen: Plan, ask: Any) -> dict[str, Any]:
    """The error of each protocol over people and over epsilon, around what was found."""
    best = chosen.options[0]
    by_people, by_epsilon = [], []
    for factor in PEOPLE:
        sizes = {name: max(2, round(factor * count)) for name, count in best.sizes.items()}
        made = ask(best.study.epsilon, sizes, None)
        by_people.append((sum(sizes.values()), {each.protocol: each.error for each in made.options}))
    for epsilon in EPSILONS:
        made = ask(epsilon, best.sizes, None)
        by_epsilon.append((epsilon, {each.protocol: each.error for each in made.options}))
    return {"people": by_people, "epsilon": by_epsilon}
