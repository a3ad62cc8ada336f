"""Which protocol, which parameters, what error to expect."""

from __future__ import annotations

from .options import Option
from .plan import Plan, plan
from .predict import Prediction, predict
from .shapes import Shape

__all__ = ["Option", "Plan", "Prediction", "Shape", "plan", "predict"]
