"""The paper's experiments, figure by figure, and comparisons of ours: from data to picture.

`reproduce` runs them; the command ``dpairs reproduce`` does so too, with a progress bar.
"""

from .catalogue import EXPERIMENTS, named
from .making import Reproduced, reproduce
from .runner import Scale

__all__ = ["EXPERIMENTS", "Reproduced", "Scale", "named", "reproduce"]
