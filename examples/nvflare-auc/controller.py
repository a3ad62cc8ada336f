"""The server: trains a model with all sites, then asks for its AUC in both ways."""

import numpy as np
from nvflare.app_common.abstract.fl_model import FLModel
from nvflare.app_common.workflows.model_controller import ModelController
from task import FEATURES, true_auc

import dpairs
from dpairs.nvflare import ask


class TrainAndEvaluate(ModelController):
    def __init__(self, rounds: int = 4, sites: int = 5, epsilon: float = 1.0, out: str = "result.txt"):
        super().__init__()
        self.rounds, self.sites, self.epsilon, self.out = rounds, sites, epsilon, out

    def run(self) -> None:
        weights = np.zeros(FEATURES + 1)
        for _ in range(self.rounds):
            model = FLModel(params={"weights": weights})
            replies = self.send_model_and_wait(data=model)
            local = np.mean([reply.metrics["auc"] for reply in replies])
            last, weights = weights, np.mean([reply.params["weights"] for reply in replies], axis=0)

        study = dpairs.Study.create(
            "auc",
            protocol="sites",
            epsilon=self.epsilon,
            domain=dpairs.Interval(0, 1),
            sites=self.sites,
            n=20_000,
        )
        # The model of the last round: the one that the local AUCs are of.
        outcome = ask(self, study, params={"weights": last})

        estimate = outcome.estimate
        low, high = estimate.confidence_interval(target="sample")
        words = (
            f"average of local AUCs      {local:.4f}\n"
            f"private AUC over all sites {estimate.value:.4f}, from {low:.4f} to {high:.4f}\n"
            f"the truth                  {true_auc(last, self.sites):.4f}\n"
            f"answered: {len(outcome.answered)} sites; {estimate.privacy}\n"
        )
        with open(self.out, "w") as file:
            file.write(words)
