"""All experiments, in the order of the report."""

from __future__ import annotations

from ..errors import BadParameter
from . import auc_diabetes, beyond
from .experiment import Experiment

EXPERIMENTS: tuple[Experiment, ...] = (auc_diabetes.EXPERIMENT, beyond.EXPERIMENT)


def named(name: str) -> Experiment:
    """The experiment of this name."""
    for each in EXPERIMENTS:
        if each.name == name:
            return each
    raise BadParameter(
        f"there is no experiment {name!r}; there are {', '.join(each.name for each in EXPERIMENTS)}"
    )
