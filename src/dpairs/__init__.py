"""Pairwise statistics (AUC, Kendall's tau, Gini, ...) of people who keep their data.

>>> import numpy as np, dpairs
>>> rng = np.random.default_rng(1)
>>> label = rng.integers(0, 2, 50_000)
>>> score = np.clip(rng.normal(0.4 + 0.2 * label, 0.15), 0, 1)
>>> estimate = dpairs.auc(label, score, epsilon=1, seed=1)
>>> abs(estimate.value - dpairs.exact("auc", {"score": score, "label": label})) < 0.05
True
>>> study = dpairs.Study.create("auc", epsilon=1, domain=(0, 1), n=50_000)
"""

import typing
from importlib.metadata import PackageNotFoundError as _NotInstalled
from importlib.metadata import version as _version

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
from .formats.checks import did_you_mean as _did_you_mean
from .participant import Participant
from .planning import (
    Plan,
    auc,
    collision_entropy,
    gini,
    gini_mean_difference,
    kendall_tau,
    mann_whitney,
    plan,
    variance,
)
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

try:
    __version__ = _version("dpairs")
except _NotInstalled:  # pragma: no cover - run from a folder of sources that was never installed
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
    "auc",
    "collision_entropy",
    "exact",
    "exact_details",
    "gini",
    "gini_mean_difference",
    "kendall_tau",
    "mann_whitney",
    "plan",
    "simulate",
    "simulate_release",
    "simulate_sites",
    "simulate_tally",
    "theory",
    "variance",
]

_ELSEWHERE = {
    "roc_auc_score": "auc(y_true, y_score, epsilon=...)",
    "roc_auc": "auc(y_true, y_score, epsilon=...)",
    "kendalltau": "kendall_tau(x, y, epsilon=...)",
    "mannwhitneyu": "mann_whitney(x, y, epsilon=...)",
    "gini_coefficient": "gini(values, epsilon=...)",
    "entropy": "collision_entropy(values, epsilon=...)",
    "var": "variance(values, epsilon=...)",
}
"""Other packages' names for what is here."""


if not typing.TYPE_CHECKING:  # else type checkers would take any name to be there

    def __getattr__(name: str) -> object:
        if name in _ELSEWHERE:
            known = f"; did you mean dpairs.{_ELSEWHERE[name]}?"
        else:
            known = "" if name.startswith("_") else _did_you_mean(name, __all__)
        raise AttributeError(f"module 'dpairs' has no attribute {name!r}{known}")
