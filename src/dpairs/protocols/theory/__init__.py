r"""The paper's bounds and parameter choices of its sections 3, 4 and 5, one function for each theorem.

Every function checks what its statement assumes.

"Private Protocols for U-Statistics in the Local Model and Beyond" (Bell, Bellet, Gascon, Kulkarni,
AISTATS 2020). Kernels have values in [0, 1] by default; ``beta`` is the probability of a
uniformly random answer. Where the paper's text is wrong, the corrected statement is computed and the
docstring names the erratum.
"""

from __future__ import annotations

from .generic import (
    MAX_PEOPLE,
    best_bins,
    krr_variance,
    krr_variance_approximation,
    krr_variance_bound,
    lipschitz_quantization_bound,
    mse_bound_lipschitz_kernel,
    mse_bound_smooth_data,
    mse_order,
    redraw_probability,
    smooth_quantization_bound,
    ustatistic_variance,
)
from .pairs import (
    all_pairs_noise,
    best_pairs,
    pairs_excess,
    pairs_laplace_noise,
    pairs_mse,
    pairs_variance,
    uncoordinated_variance,
    zetas,
)
from .trees import (
    TREE_ORDERS,
    oracle_covariance_others,
    oracle_gain,
    oracle_variance,
    oracle_variance_others,
    recursed_bound,
    tree_factor,
    tree_factor_zero,
    tree_mse_bound,
    tree_mse_bound_proved,
    tree_mse_bound_zero,
    tree_mse_corollary,
    tree_mse_corollary_zero,
)

__all__ = [
    "MAX_PEOPLE",
    "TREE_ORDERS",
    "all_pairs_noise",
    "best_bins",
    "best_pairs",
    "krr_variance",
    "krr_variance_approximation",
    "krr_variance_bound",
    "lipschitz_quantization_bound",
    "mse_bound_lipschitz_kernel",
    "mse_bound_smooth_data",
    "mse_order",
    "oracle_covariance_others",
    "oracle_gain",
    "oracle_variance",
    "oracle_variance_others",
    "pairs_excess",
    "pairs_laplace_noise",
    "pairs_mse",
    "pairs_variance",
    "recursed_bound",
    "redraw_probability",
    "smooth_quantization_bound",
    "tree_factor",
    "tree_factor_zero",
    "tree_mse_bound",
    "tree_mse_bound_proved",
    "tree_mse_bound_zero",
    "tree_mse_corollary",
    "tree_mse_corollary_zero",
    "uncoordinated_variance",
    "ustatistic_variance",
    "zetas",
]
