"""The server: trains a model with all sites, then asks for its AUC in both ways."""

import numpy as np
from flwr.app import ArrayRecord, Context
from flwr.serverapp import Grid, ServerApp
from flwr.serverapp.strategy import FedAvg

import dpairs
from dpairs.flower import ask

from .task import FEATURES, true_auc

app = ServerApp()


@app.main()
def main(grid: Grid, context: Context) -> None:
    sites, rounds = int(context.run_config["sites"]), int(context.run_config["rounds"])
    strategy = FedAvg(min_available_nodes=sites, min_train_nodes=sites, min_evaluate_nodes=sites)
    result = strategy.start(grid, ArrayRecord([np.zeros(FEATURES + 1)]), num_rounds=rounds)

    study = dpairs.Study.create(
        "auc",
        protocol="sites",
        epsilon=float(context.run_config["epsilon"]),
        domain=dpairs.Interval(0, 1),
        sites=sites,
        n=20_000,
    )
    outcome = ask(grid, study, arrays=result.arrays)

    estimate = outcome.estimate
    low, high = estimate.confidence_interval(target="sample")
    local = result.evaluate_metrics_clientapp[rounds]["auc"]
    truth = true_auc(result.arrays.to_numpy_ndarrays()[0], sites)
    print(f"average of local AUCs      {local:.4f}")
    print(f"private AUC over all sites {estimate.value:.4f}, from {low:.4f} to {high:.4f}")
    print(f"the truth                  {truth:.4f}")
    print(f"answered: {len(outcome.answered)} sites; {estimate.privacy}", flush=True)
