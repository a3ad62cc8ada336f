"""The paper's experiments, figure by figure, and comparisons of ours: from data to picture.

`experiments.reproduce` runs them; the command ``dpairs reproduce`` does so too, with a progress bar.
"""

from .catalogue import EXPERIMENTS, named
from .runner import Scale

__all__ = ["EXPERIMENTS", "Scale", "named"]
