"""Pairwise statistics (AUC, Kendall's tau, Gini, ...) of people who keep their data.

>>> import numpy as np, dpairs
>>> rng = np.random.default_rng(1)
>>> label = rng.integers(0, 2, 50_000)
>>> score = np.clip(rng.normal(0.4 + 0.2 * label, 0.15), 0, 1)
>>> study = dpairs.Study.create("auc", epsilon=2.0, domain=dpairs.Interval(0, 1), bins=16)
>>> estimate = dpairs.simulate(study, {"score": score, "label": label}, seed=1)
>>> abs(estimate.value - dpairs.exact("auc", {"score": score, "label": label})) < 0.05
True
"""

from .data.domains import Categories, Integers, Interval, Levels
from .errors import (
    AlreadyAnswered,
    BadFile,
    BadMessage,
    BadParameter,
    BadValue,
    Closed,
    Conflict,
    DpairsError,
    ForgedOutput,
    InvalidInput,
    LimitExceeded,
    NotAllowed,
    NotAsked,
    NotEnoughData,
    NotEstimable,
    NotFound,
    NotVerified,
    NotYet,
    NotYours,
    OutOfOrder,
    Refused,
    Replayed,
    ServiceError,
    TapeExhausted,
    TooLarge,
    TooMany,
    TooSlow,
    TrailingBytes,
    Unavailable,
    WorkerLost,
    WrongPartner,
    WrongStudy,
)
from .estimate import Estimate, Explanation, Quantization
from .participant import Participant
from .planning import Plan, plan
from .privacy import PrivacyClaim
from .privacy.ledger import Ledger
from .protocols import theory
from .release import Release
from .report import Report
from .simulate import simulate, simulate_release, simulate_sites, simulate_tally
from .sites import SiteAnswer, SiteTally
from .statistics import Kernel, Statistic, exact, exact_details
from .study import Study
from .tally import Tally

__version__ = "0.1.0"

__all__ = [
    "AlreadyAnswered",
    "BadFile",
    "BadMessage",
    "BadParameter",
    "BadValue",
    "Categories",
    "Closed",
    "Conflict",
    "DpairsError",
    "Estimate",
    "Explanation",
    "ForgedOutput",
    "Integers",
    "Interval",
    "InvalidInput",
    "Kernel",
    "Ledger",
    "Levels",
    "LimitExceeded",
    "NotAllowed",
    "NotAsked",
    "NotEnoughData",
    "NotEstimable",
    "NotFound",
    "NotVerified",
    "NotYet",
    "NotYours",
    "OutOfOrder",
    "Participant",
    "Plan",
    "PrivacyClaim",
    "Quantization",
    "Refused",
    "Release",
    "Replayed",
    "Report",
    "ServiceError",
    "SiteAnswer",
    "SiteTally",
    "Statistic",
    "Study",
    "Tally",
    "TapeExhausted",
    "TooLarge",
    "TooMany",
    "TooSlow",
    "TrailingBytes",
    "Unavailable",
    "WorkerLost",
    "WrongPartner",
    "WrongStudy",
    "__version__",
    "exact",
    "exact_details",
    "plan",
    "simulate",
    "simulate_release",
    "simulate_sites",
    "simulate_tally",
    "theory",
]
