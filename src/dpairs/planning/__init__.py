"""Which protocol, which parameters, what error to expect."""

from __future__ import annotations

from ..protocols.shape import Prediction, Shape
from .one_call import auc, collision_entropy, gini, gini_mean_difference, kendall_tau, mann_whitney, variance
from .options import Option
from .plan import Plan, plan

__all__ = [
    "Option",
    "Plan",
    "Prediction",
    "Shape",
    "auc",
    "collision_entropy",
    "gini",
    "gini_mean_difference",
    "kendall_tau",
    "mann_whitney",
    "plan",
    "variance",
]
