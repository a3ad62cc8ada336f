"""Flower: the AUC over all clients' records, private for each record, in a few lines of an evaluation.

In the ClientApp, a function that answers for the client's own records::

    @app.query()
    def private(message, context):
        scores = predict(message.content["model"], X)
        return answer(message, context, {"score": scores, "label": y}, max_epsilon=1.0)

In the ServerApp, after training::

    outcome = ask(grid, study, arrays=result.arrays)
    print(outcome.estimate.value, outcome.estimate.confidence_interval())
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from flwr.app import ArrayRecord, ConfigRecord, Context, Message, RecordDict

from ..errors import DpairsError
from ..federated import Outcome, conduct, respond
from ..federated.conducting import Client, Request, site_of
from ..federated.responding import Answering
from ..study import Study

__all__ = ["Outcome", "answer", "ask"]

RECORD, MODEL = "dpairs", "model"
"""The names of the study's record and of the model's in a message."""


def answer(
    message: Message,
    context: Context,
    data: Any,
    *,
    max_epsilon: float,
    max_delta: float = 0.0,
    limit: float | None = None,
    keep: bool = False,
    site: Answering | None = None,
) -> Message:
    """This client's reply to `ask`: noisy numbers for all its records, or the report of its only one.

    The answer and what it cost are kept in ``context.state``, so a message that comes twice gets the same
    bytes. That state lasts as long as the run; give a ``site`` (`dpairs.client.Site`) whose folder lasts.
    What this client does not agree to is refused in a sentence, and nothing leaves.
    """
    state = context.state.setdefault(RECORD, ConfigRecord())
    try:
        request = message.content[RECORD]
        name = site_of(context.node_id)
        given: dict[str, Any] = {"max_delta": max_delta, "limit": limit, "keep": keep, "site": site}
        reply = respond(request, data, state, name, max_epsilon=max_epsilon, **given)
    except KeyError:
        reply = {"refused": f"the message has no record {RECORD!r}"}
    except DpairsError as error:
        reply = {"refused": str(error)}
    return Message(RecordDict({RECORD: ConfigRecord(dict(reply))}), reply_to=message)


def ask(
    grid: Any,
    study: Study,
    *,
    arrays: ArrayRecord | None = None,
    nodes: Iterable[int] | None = None,
    message_type: str = "query",
    timeout: float = 3600,
) -> Outcome:
    """Conduct ``study`` with the nodes of a grid, all that are there unless some are named.

    ``arrays`` is the model, which clients score their records with; ``message_type`` says which of the
    ClientApp's functions answers. Nodes that do not reply within ``timeout`` seconds have dropped out.
    """

    def exchange(requests: Mapping[Client, Request]) -> Iterator[tuple[Client, Mapping[str, object]]]:
        model = {} if arrays is None else {MODEL: arrays}
        messages = [
            Message(
                RecordDict({RECORD: ConfigRecord(dict(request)), **model}),
                dst_node_id=int(node),
                message_type=message_type,
            )
            for node, request in requests.items()
        ]
        for reply in grid.send_and_receive(messages, timeout=timeout):
            node = int(reply.metadata.src_node_id)
            if reply.has_error():
                yield node, {"refused": reply.error.reason or "its app failed"}
                continue
            yield node, _content(reply)

    return conduct(study, list(grid.get_node_ids()) if nodes is None else nodes, exchange)


def _content(reply: Message) -> Mapping[str, object]:
    """What a node says, as far as it says anything to a study."""
    record = reply.content.get(RECORD)
    return dict(record) if isinstance(record, ConfigRecord) else {}
