"""NVFLARE: the AUC over all sites' records, private for each record, through its client API and a controller.

In the client's script, beside training::

    model = flare.receive()
    if asks(model):
        data = {"score": predict(model.params, X), "label": y}
        flare.send(answer(model, data, state, flare.get_site_name(), max_epsilon=1.0))

In a `ModelController`, after training::

    outcome = ask(self, study, params=model.params)
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, MutableMapping
from typing import Any

from nvflare.app_common.abstract.fl_model import FLModel

from ..errors import DpairsError
from ..federated import Outcome, conduct, respond
from ..federated.conducting import Client, Request
from ..federated.responding import Answering
from ..study import Study

__all__ = ["Outcome", "answer", "ask", "asks"]

META = "dpairs"
"""Where a model's metadata holds a study's request, and its reply."""


def asks(model: FLModel) -> bool:
    """Whether a model came with a study to answer."""
    return META in model.meta


def answer(
    model: FLModel,
    data: Any,
    state: MutableMapping[str, Any],
    name: str,
    *,
    max_epsilon: float,
    max_delta: float = 0.0,
    limit: float | None = None,
    keep: bool = False,
    site: Answering | None = None,
) -> FLModel:
    """This site's reply to `ask`: noisy numbers for all its records, or the report of its only one.

    ``state`` keeps answers and a ledger as long as the script lives, so a task that comes twice gets the same
    bytes; give a ``site`` (`dpairs.client.Site` of the same name) whose folder lasts longer.
    """
    request = model.meta.get(META)
    try:
        given = dict(request) if isinstance(request, Mapping) else {}
        given["index"] = dict(given.pop("indices", {})).get(name, "")
        more: dict[str, Any] = {"max_delta": max_delta, "limit": limit, "keep": keep, "site": site}
        reply = respond(given, data, state, name, max_epsilon=max_epsilon, **more)
    except DpairsError as error:
        reply = {"refused": str(error)}
    return FLModel(metrics={}, meta={META: reply})


def ask(
    controller: Any,
    study: Study,
    *,
    params: Any = None,
    clients: Iterable[str] | None = None,
    task_name: str = "train",
    timeout: int = 3600,
) -> Outcome:
    """Conduct ``study`` with a controller's clients, all that are there unless some are named.

    ``params`` is the model, which sites score their records with. Sites that do not reply within ``timeout``
    seconds have dropped out.
    """

    def exchange(requests: Mapping[Client, Request]) -> Iterator[tuple[Client, Mapping[str, object]]]:
        if not requests:
            return
        # One model for all: what differs is each site's number.
        shared = {name: text for name, text in next(iter(requests.values())).items() if name != "index"}
        indices = {str(client): request["index"] for client, request in requests.items()}
        data = FLModel(params={} if params is None else params, meta={META: {**shared, "indices": indices}})
        replies = controller.send_model_and_wait(
            task_name=task_name, data=data, targets=list(indices), timeout=timeout
        )
        for model in replies:
            said = model.meta.get(META)
            yield str(model.meta.get("client_name")), said if isinstance(said, Mapping) else {}

    return conduct(study, controller.sample_clients() if clients is None else clients, exchange)
