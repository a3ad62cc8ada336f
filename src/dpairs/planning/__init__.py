"""Which protocol, which parameters, what error to expect."""

from __future__ import annotations

from ..protocols.shape import Prediction, Shape
from .options import Option
from .plan import Plan, plan

__all__ = ["Option", "Plan", "Prediction", "Shape", "plan"]
