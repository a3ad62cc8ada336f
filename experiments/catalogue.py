"""All experiments, in the order of the report."""

from __future__ import annotations

from dpairs.errors import BadParameter

from . import (
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
from .experiment import Experiment

EXPERIMENTS: tuple[Experiment, ...] = (
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


def named(name: str) -> Experiment:
    """The experiment of this name."""
    for each in EXPERIMENTS:
        if each.name == name:
            return each
    raise BadParameter(
        f"there is no experiment {name!r}; there are {', '.join(each.name for each in EXPERIMENTS)}"
    )
