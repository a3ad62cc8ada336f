"""A site: trains on its own records, evaluates, and answers for them privately."""

import numpy as np
import nvflare.client as flare
from task import local_auc, predict, records, train

from dpairs.nvflare import answer, asks

SITES = 5


def main() -> None:
    flare.init()
    name, state = flare.get_site_name(), {}
    site = int(name.rsplit("-", 1)[1]) - 1
    while flare.is_running():
        model = flare.receive()
        if model is None:
            break
        weights = np.asarray(model.params["weights"])
        X, y = records(site, SITES, "test")
        if asks(model):
            data = {"score": predict(weights, X), "label": y}
            flare.send(answer(model, data, state, name, max_epsilon=1.0))
            continue
        metrics = {"auc": local_auc(weights, X, y), "records": len(y)}
        trained = train(weights, *records(site, SITES))
        flare.send(flare.FLModel(params={"weights": trained}, metrics=metrics))


if __name__ == "__main__":
    main()
