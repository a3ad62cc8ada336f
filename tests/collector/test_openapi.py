"""The API does what its description says, whatever it is sent (schemathesis), and never fails."""

from __future__ import annotations

import inspect
import json
from collections import Counter
from typing import Any

import hypothesis
import pytest
from hypothesis import HealthCheck, Phase, settings, strategies

from dpairs import Interval, Study
from dpairs.collector.limits import Limits
from dpairs.collector.routes import analysts, pairs, participants, plans, reports, sites

from .people import Population, histogram, pairwise, projection, report_json, tree
from .servers import VALIDATE, Caller, begin, collector, enrol
from .test_sites import Raw

CASES = 300 if VALIDATE else 10
"""For each of some 22 operations."""
GOOD = json.loads(histogram(77).to_json())
PLAN = {
    "statistic": "auc",
    "domain": [{"kind": "interval", "low": 0, "high": 1}],
    "epsilon": 1.0,
    "people": 999,
}


def test_no_request_waits_for_a_thread_before_it_is_handled(here):
    """A plain function as a dependency goes through a pool of threads: that takes longer than a report."""

    def plain(wanted: Any) -> list[str]:
        found = [name for each in wanted.dependencies for name in plain(each)]
        call = wanted.call
        call = call if inspect.isfunction(call) else type(call).__call__
        return found if inspect.iscoroutinefunction(call) else [*found, str(call)]

    routes: list[Any] = [
        route
        for router in (
            *(*participants.routers, *sites.routers),
            *(analysts.router, reports.router, pairs.router, plans.router),
        )
        for route in router.routes
    ]
    assert len(routes) > 20
    assert [name for route in routes for name in plain(route.dependant)] == []


def test_a_report_takes_the_short_way_and_is_counted_as_its_route(here, call):
    study = histogram()
    begin(here.analyst(), study)
    given = enrol(call, study.id, 1)
    path = f"/api/v1/studies/{study.id}/reports"
    assert [each.cls for each in here.app.user_middleware] == [Limits, reports.Reports]
    assert call("POST", path, report_json(study, given, 1), token=given["secret"]).status == 200
    assert call("POST", path, body=b"x", token="no").error == (401, "NotAllowed")
    assert call("PUT", path, {}).status == 405
    assert call("POST", "/api/v1/studies/nothing/reports", {}).error == (404, "NotFound")
    assert call("POST", f"/api/v1/studies/{64 * '0'}/reports", {}).error == (404, "NotFound")
    assert call("POST", f"{path}/", {}).error == (404, "NotFound")
    assert here.analyst().tally(study.id).n == 1
    said = call("GET", "/metrics").body.decode()
    route = 'route="/api/v1/studies/{study}/reports"'
    assert f'dpairs_requests_total{{method="POST",{route},status="200"}} 1.0' in said
    assert f'dpairs_requests_total{{method="POST",{route},status="401"}} 1.0' in said


def as_bytes(_: Any, value: Any) -> bytes:
    return value if isinstance(value, bytes) else str(value).encode(errors="replace")


@pytest.fixture(scope="module")
def checks() -> list[Any]:
    """Imported here alone: every worker collects every file, and one runs these tests."""
    import schemathesis
    from schemathesis.checks import not_a_server_error
    from schemathesis.specs.openapi import checks

    schemathesis.serializer("application/x-ndjson", "application/vnd.apache.arrow.stream")(as_bytes)
    return [
        not_a_server_error,
        checks.status_code_conformance,
        checks.content_type_conformance,
        checks.response_schema_conformance,
        checks.response_headers_conformance,
    ]


def described(spec: Any) -> Any:
    from schemathesis import openapi

    return openapi.from_dict(spec)


@pytest.fixture(scope="module")
def crowded(tmp_path_factory):
    """A collector with studies in every state, and the secrets of people in them."""
    folder = tmp_path_factory.mktemp("openapi")
    with collector(f"sqlite:///{folder / 'collector.sqlite'}") as made:
        analyst, call, secrets = made.analyst(), Caller(made.base), {}
        for study in (histogram(), tree(), projection()):
            begin(analyst, study)
            crowd = Population(study, 40, seed=1)
            crowd.enrol(made.transport())
            crowd.answer(made.transport(), study)
            secrets[study.id] = [each["secret"] for each in list(crowd.enrolled.values())[:2]]
        given = analyst.gateway(histogram().id, {"everybody": 10})["everybody"]
        secrets[histogram().id].append(given["secret"])
        hospitals = Study.create("auc", protocol="sites", epsilon=1.0, domain=Interval(0, 1), bins=4, seed=1)
        begin(analyst, hospitals)
        secrets[hospitals.id] = [
            Raw(made.base, hospitals, f"site {n}", n).enrolled.json["secret"] for n in (1, 2)
        ]
        pairs, invited = pairwise(), histogram(5)
        begin(analyst, pairs)
        secrets[pairs.id] = [enrol(call, pairs.id, n, key=f"{n:064x}")["secret"] for n in range(9, 13)]
        analyst.advance(pairs.id)
        begin(analyst, invited, enrolment="invited")
        analyst.invite(invited.id, 2)
        secrets[invited.id] = ["none"]
        made.secrets = secrets  # type: ignore[attr-defined]
        yield made


class Trial:
    """Sends cases of one operation: most to studies that are there, with tokens that are known."""

    def __init__(self, crowded: Any, checks: list[Any], operation: Any, studies: list[str]) -> None:
        self._crowded, self._checks, self._operation, self._studies = crowded, checks, operation, studies
        self.statuses: Counter[int] = Counter()

    def run(self) -> None:
        def one(data: Any, case: Any) -> None:
            self._send(data.draw, case)

        given = hypothesis.given(data=strategies.data(), case=self._operation.as_strategy())
        settings(
            max_examples=CASES,
            deadline=None,
            database=None,
            derandomize=True,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )(given(one))()

    def _send(self, draw: Any, case: Any) -> None:
        sampled = strategies.sampled_from
        study = draw(sampled(self._studies))
        if "study" in (case.path_parameters or {}) and draw(sampled([True, True, False])):
            case.path_parameters["study"] = study
        if draw(sampled([True, True, True, False])):
            analysts = "analysts" in (self._operation.tags or [])
            secrets = [self._crowded.token] if analysts else self._crowded.secrets.get(study, ["none"])
            case.headers = {**(case.headers or {}), "Authorization": f"Bearer {draw(sampled(secrets))}"}
        if isinstance(case.body, dict) and draw(sampled([True, False])):
            self._sense(draw, case.body, study)
        answer = case.call(base_url=self._crowded.base, timeout=60)
        self.statuses[answer.status_code] += 1
        case.validate_response(answer, checks=self._checks)

    def _sense(self, draw: Any, body: dict[str, Any], study: str) -> None:
        """Make something of a body that reaches deeper."""
        sampled = strategies.sampled_from
        if "title" in body:
            body["study"] = {**GOOD, **draw(sampled([{}, {"epsilon": 3}, {"seed": "x"}]))}
        elif "symbol" in body:
            body |= {"study": study, "stratum": "everybody"}
        elif "statistic" in body:
            body |= {name: PLAN[name] for name in draw(sampled([tuple(PLAN), ("domain", "statistic")]))}
        elif "request" in body and draw(sampled([True, False])):
            body["stratum"] = draw(sampled(["everybody", "positive", "negative"]))
        elif "seen" in body:
            body["seen"] = draw(sampled(["round 1", "enrolment", "pairing"]))


def test_every_answer_is_as_declared(crowded, checks):
    schema = described(Caller(crowded.base)("GET", "/openapi.json").json)
    known = list(crowded.secrets)
    done: dict[str, Counter[int]] = {}
    for result in schema.get_all_operations():
        operation, studies = result.ok(), known
        if operation.method == "delete":
            studies = ["0" * 64]  # the others are still needed
        elif operation.path.endswith("/close"):
            studies = known[-1:]
        trial = Trial(crowded, checks, operation, studies)
        trial.run()
        done[operation.label] = trial.statuses
    statuses = sum(done.values(), Counter())
    print(f"{statuses.total()} cases of {len(done)} operations: {dict(statuses)}")
    assert len(done) >= 20
    assert statuses.total() >= 20 * CASES
    assert statuses[200] + statuses[201] > 2 * CASES  # much of it is answered, not only refused
    assert {401, 403, 404, 409, 422} <= set(statuses)


def test_the_checks_would_notice_an_answer_that_is_not_declared(crowded, checks):
    spec = Caller(crowded.base)("GET", "/openapi.json").json
    good = described(spec)["/healthz"]["GET"].Case()
    answer = good.call(base_url=crowded.base)
    good.validate_response(answer, checks=checks)
    spec["components"]["schemas"]["Health"]["properties"]["status"]["const"] = "ill"
    bad = described(spec)["/healthz"]["GET"].Case()
    with pytest.raises(BaseExceptionGroup):
        bad.validate_response(bad.call(base_url=crowded.base), checks=checks)
