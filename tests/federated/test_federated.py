"""A study within a federated tool: honest clients, stubborn ones, and a server that asks too much."""

import base64
import json
from typing import Any

import numpy as np
import pytest

import dpairs
from dpairs import Interval, SiteAnswer, SiteTally, Study
from dpairs.client import Device, Site
from dpairs.federated import conduct, respond
from dpairs.federated.conducting import site_of
from dpairs.federated.responding import SAID
from dpairs.formats.canonical import canonical

UNIT = Interval(0, 1)
EPSILON = 1.0


def study_of(protocol="sites", epsilon=EPSILON, **options):
    return Study.create("auc", protocol=protocol, epsilon=epsilon, domain=UNIT, seed=1, **options)


def records(client, n=400):
    rng = np.random.default_rng([5, client])
    label = rng.integers(0, 2, n)
    return {"score": rng.normal(0.4 + 0.2 * label, 0.15).clip(0, 1), "label": label}


class Clients:
    """All clients of a tool, each with the state that the tool keeps."""

    def __init__(self, count, data=records, change=None, epsilon=EPSILON):
        self.states: dict[int, dict[str, Any]] = {client: {} for client in range(count)}
        self.data, self.change, self.asked = data, change or (lambda client, reply: reply), []
        self.epsilon = epsilon

    def __call__(self, requests):
        for client, request in requests.items():
            self.asked.append((client, request["study"]))
            state = self.states[client]
            reply = respond(request, self.data(client), state, site_of(client), max_epsilon=self.epsilon)
            changed = self.change(client, reply)
            if changed is not None:
                yield client, changed


def test_sites_answer_both_rounds():
    clients = Clients(5)
    outcome = conduct(study_of(bins=16, sites=5), range(5), clients)
    whole = [records(client) for client in range(5)]
    true = dpairs.exact("auc", {name: np.concatenate([each[name] for each in whole]) for name in whole[0]})
    assert abs(outcome.estimate.value - true) < 4 * outcome.estimate.sample_standard_error
    assert outcome.answered == (0, 1, 2, 3, 4)
    assert not outcome.refused
    assert len(clients.asked) == 10


def test_clients_of_one_record_answer_by_projection():
    def one(client):
        return {name: values[:1] for name, values in records(client, 1).items()}

    clients = Clients(600, data=one, epsilon=5.0)
    study = study_of("projection", epsilon=5.0, n=600, pilot_fraction=0.25)
    outcome = conduct(study, range(600), clients)
    # Six standard errors: fails by chance less than once in 10^8. One half, what no answer at all would give,
    # is further away.
    assert abs(outcome.estimate.value - 0.83) < 6 * outcome.estimate.standard_error < 0.33
    assert not outcome.refused
    # Each client answered in one of the rounds, and once.
    answers = [sum(name.startswith("answer ") for name in state) for state in clients.states.values()]
    assert set(answers) == {1}
    with pytest.raises(dpairs.BadParameter, match="clients with one record each"):
        conduct(study_of("projection", n=100), range(2), Clients(2))


def test_what_a_client_answered_it_answers_again():
    study = study_of()
    state: dict[str, Any] = {}
    request = {"study": study.to_json()}
    first = respond(request, records(1), state, "a", max_epsilon=1.0)
    assert respond(request, records(2), state, "a", max_epsilon=1.0) == first
    # Control: another state makes another answer.
    assert respond(request, records(1), {}, "a", max_epsilon=1.0) != first


def test_a_server_that_asks_too_much_gets_nothing():
    study = study_of()
    state: dict[str, Any] = {}
    with pytest.raises(dpairs.LimitExceeded):
        respond({"study": study.to_json()}, records(1), state, "a", max_epsilon=0.5)
    respond({"study": study.to_json()}, records(1), state, "a", max_epsilon=1.0, limit=1.5)
    other = study_of(bins=7)
    with pytest.raises(dpairs.LimitExceeded):
        respond({"study": other.to_json()}, records(1), state, "a", max_epsilon=1.0)
    # Two different second rounds of one first.
    second = []
    for names in (("a",), ("a", "b")):
        tally = SiteTally(study)
        for name in names:
            tally.add(SiteAnswer.of(study, name, records(3)))
        second.append(study.next(tally))
    first = {"first": study.to_json()}
    respond({"study": second[0].to_json(), **first}, records(1), state, "a", max_epsilon=1.0)
    with pytest.raises(dpairs.AlreadyAnswered, match="another second round"):
        respond({"study": second[1].to_json(), **first}, records(1), state, "a", max_epsilon=1.0)
    with pytest.raises(dpairs.BadParameter, match="its first round is missing"):
        respond({"study": second[1].to_json()}, records(1), {}, "a", max_epsilon=1.0)


SECRETS = {"score": [0.123456, np.nan], "label": [0, 1], "person": ["Ann", "Ann"]}


@pytest.mark.parametrize(
    ("data", "options"),
    [
        (SECRETS, {"unit": "person", "max_records_per_person": 1}),
        (SECRETS, {"unit": "person", "max_records_per_person": 2}),
        ({"score": [0.123456, 0.2], "label": ["Ann", "Bob"]}, {}),
        ({"score": np.array([0.123456, "Ann"], dtype=object), "label": [0, 1]}, {}),
    ],
)
def test_no_word_about_a_record_leaves_and_a_server_cannot_ask_further(data, options, caplog):
    state: dict[str, Any] = {}
    study = study_of(**options)
    with pytest.raises(dpairs.BadValue) as caught:
        respond({"study": study.to_json()}, data, state, "a", max_epsilon=1.0)
    assert str(caught.value) == SAID
    assert "Ann" in caplog.text or "nan" in caplog.text
    # What fits is not answered either, from now on: one refusal tells no more than one bit.
    with pytest.raises(dpairs.BadParameter, match="answers no more"):
        respond({"study": study_of(bins=4).to_json()}, records(1), state, "a", max_epsilon=1.0)


def test_a_server_learns_nothing_exact_by_the_domain_that_it_chooses():
    for domain in (Interval(0.4, 0.5), Interval(3, 4)):
        study = Study.create("auc", protocol="sites", epsilon=1.0, domain=domain, seed=1)
        reply = respond({"study": study.to_json()}, records(1), {}, "a", max_epsilon=1.0)
        assert SiteAnswer.from_bytes(reply["answer"], study).site == "a"
    whole = Study.create(
        "gini_mean_difference", protocol="sites", epsilon=1.0, domain=dpairs.Integers(5, 900)
    )
    values = np.array([1, 7, 255], dtype=np.uint8)
    assert "answer" in respond({"study": whole.to_json()}, {"value": values}, {}, "a", max_epsilon=1.0)


def test_records_of_persons_are_answered_for_persons_only():
    data = {**records(1), "person": np.arange(400) // 2}
    with pytest.raises(dpairs.BadParameter, match="protects single records"):
        respond({"study": study_of().to_json()}, data, {}, "a", max_epsilon=1.0)
    study = study_of(unit="person", max_records_per_person=2)
    assert "answer" in respond({"study": study.to_json()}, data, {}, "a", max_epsilon=1.0)


def test_a_limit_holds_from_now_on_and_a_delta_is_allowed_once():
    state: dict[str, Any] = {}
    respond({"study": study_of().to_json()}, records(1), state, "a", max_epsilon=1.0)
    with pytest.raises(dpairs.LimitExceeded):
        respond({"study": study_of(bins=7).to_json()}, records(1), state, "a", max_epsilon=1.0, limit=1.5)
    for bins, fits in ((5, True), (6, False)):
        study = study_of(bins=bins, noise="gaussian", delta=1e-6)
        request = {"study": study.to_json()}
        if fits:
            assert "answer" in respond(request, records(1), state, "a", max_epsilon=1.0, max_delta=1e-6)
            continue
        with pytest.raises(dpairs.LimitExceeded):
            respond(request, records(1), state, "a", max_epsilon=1.0, max_delta=1e-6)


def _forged(reply):
    spec = json.loads(reply["answer"])
    return {**reply, "answer": canonical({**spec, "site": "client-0"})}


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda reply: {**reply, "answer": "nonsense"}, "not valid JSON"),
        (lambda reply: {**reply, "answer": 5}, "no answer"),
        (lambda reply: {**reply, "study": "0" * 64}, "another study"),
        (lambda reply: {}, "another study"),
        (_forged, "in the name of 'client-0'"),
        (lambda reply: {"refused": "no " * 400}, "the client refused: no"),
        (lambda reply: {"refused": "no\x1b[2J\n"}, "the client refused: no [2J "),
    ],
)
def test_a_reply_that_cannot_be_used_is_left_out_and_said(change, why):
    clients = Clients(4, change=lambda client, reply: change(reply) if client == 2 else reply)
    outcome = conduct(study_of(bins=8), range(4), clients)
    assert outcome.answered == (0, 1, 3)
    assert why in outcome.refused[2]
    assert len(outcome.refused[2]) < 700
    assert outcome.estimate.n == 1200


def test_a_client_that_drops_out_between_rounds_is_not_in_the_estimate():
    seen = []

    def silent(client, reply):
        seen.append(client)
        return None if client == 1 and len(seen) > 4 else reply

    outcome = conduct(study_of(bins=8), range(4), Clients(4, change=silent))
    assert outcome.answered == (0, 2, 3)
    assert outcome.estimate.n == 1200


def test_studies_that_no_tool_can_conduct_are_refused(tmp_path):
    for protocol, options in (("pairwise", {}), ("two_servers", {"bins": 8})):
        with pytest.raises(dpairs.BadParameter, match="sites or people answer alone"):
            conduct(study_of(protocol, **options), range(3), Clients(3))
    asked = study_of("two_servers", bins=8, answered_by="sites")
    state: dict[str, Any] = {}
    for site in (None, Site("a", device=Device(tmp_path))):
        with pytest.raises(dpairs.BadParameter, match="in shares for two servers"):
            respond({"study": asked.to_json()}, records(1), state, "a", max_epsilon=1.0, site=site)
    assert state == {}
    with pytest.raises(dpairs.BadFile, match="has the text 'study'"):
        respond({"study": base64}, records(1), {}, "a", max_epsilon=1.0)  # type: ignore[dict-item]
