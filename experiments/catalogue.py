"""All experiments: the paper's figures in the order of the report, then those of pages."""

from __future__ import annotations

from dpairs.errors import BadParameter

from .experiment import Experiment, Figure
from .pages import (
    concepts,
    federated,
    front,
    internet,
    mechanisms,
    pairs,
    plan_grid,
    projection_runs,
    quantization,
    sites,
    theory,
    tree,
    two_servers,
    two_servers_coverage,
    two_servers_crowded,
    two_servers_curves,
    two_servers_zoo,
)
from .paper import (
    auc_diabetes,
    auc_diabetes_generic,
    auc_synthetic_generic,
    auc_synthetic_tree,
    beyond,
    bounds,
    entropy,
    gini,
    kendall_tripadvisor,
    splitting,
)

FIGURES: tuple[Figure, ...] = (
    auc_diabetes.EXPERIMENT,
    kendall_tripadvisor.EXPERIMENT,
    auc_synthetic_tree.EXPERIMENT,
    auc_synthetic_generic.EXPERIMENT,
    auc_diabetes_generic.EXPERIMENT,
    splitting.EXPERIMENT,
    bounds.EXPERIMENT,
    beyond.EXPERIMENT,
    gini.EXPERIMENT,
    entropy.EXPERIMENT,
)
EXPERIMENTS: tuple[Experiment, ...] = (
    *FIGURES,
    concepts.EXPERIMENT,
    theory.EXPERIMENT,
    quantization.EXPERIMENT,
    mechanisms.EXPERIMENT,
    mechanisms.VARIANCES,
    pairs.EXPERIMENT,
    tree.EXPERIMENT,
    *projection_runs.EXPERIMENTS,
    plan_grid.EXPERIMENT,
    plan_grid.UNSEEN,
    federated.EXPERIMENT,
    front.EXPERIMENT,
    internet.EXPERIMENT,
    sites.EXPERIMENT,
    two_servers.EXPERIMENT,
    two_servers_coverage.EXPERIMENT,
    two_servers_zoo.EXPERIMENT,
    two_servers_crowded.EXPERIMENT,
    two_servers_curves.EXPERIMENT,
)


def named(name: str) -> Experiment:
    """The experiment of this name."""
    for each in EXPERIMENTS:
        if each.name == name:
            return each
    raise BadParameter(
        f"there is no experiment {name!r}; there are {', '.join(each.name for each in EXPERIMENTS)}"
    )
