"""A site: trains on its own records, evaluates, and answers for them privately."""

from flwr.app import ArrayRecord, Context, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp

from dpairs.flower import answer

from .task import local_auc, predict, records, train

app = ClientApp()


def mine(context: Context, part: str):
    return records(int(context.node_config["partition-id"]), int(context.run_config["sites"]), part)


def weights_of(message: Message):
    return message.content["arrays"].to_numpy_ndarrays()[0]


@app.train()
def fit(message: Message, context: Context) -> Message:
    X, y = mine(context, "train")
    weights = train(weights_of(message), X, y)
    content = {"arrays": ArrayRecord([weights]), "metrics": MetricRecord({"num-examples": len(y)})}
    return Message(RecordDict(content), reply_to=message)


@app.evaluate()
def evaluate(message: Message, context: Context) -> Message:
    """What federated tools do: an AUC of one's own, to be averaged."""
    X, y = mine(context, "test")
    metrics = MetricRecord({"auc": local_auc(weights_of(message), X, y), "num-examples": len(y)})
    return Message(RecordDict({"metrics": metrics}), reply_to=message)


@app.query()
def private(message: Message, context: Context) -> Message:
    """The private way."""
    X, y = mine(context, "test")
    scores = predict(message.content["model"].to_numpy_ndarrays()[0], X)
    return answer(message, context, {"score": scores, "label": y}, max_epsilon=1.0)
