"""Pictures, in one style, with a palette that colour-blind readers can tell apart.

They are drawn from plain numbers, by whatever holds these: estimates, plans, the command line. Drawing needs
matplotlib, the extra ``plots``.
"""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

from ..errors import BadFile, BadParameter

try:
    import matplotlib as mpl
    from matplotlib.figure import Figure
except ImportError:
    raise BadParameter("pictures need matplotlib: pip install 'dpairs[plots]'") from None

BLUE, ORANGE, GREY = "#0072B2", "#D55E00", "#666666"
GREEN, PINK, YELLOW, SKY = "#009E73", "#CC79A7", "#E69F00", "#56B4E9"
"""From the palette of Okabe and Ito."""
STYLE: Any = {
    "axes.spines.top": False,
    "axes.spines.right": False,
    "font.size": 10,
    "figure.dpi": 150,
    "svg.hashsalt": "dpairs",
}


class Picture(Figure):
    """A figure that a notebook shows, without pyplot and its global state."""

    def _repr_png_(self) -> bytes:
        written = io.BytesIO()
        self.savefig(written, format="png")
        return written.getvalue()


def blank(width: float, height: float) -> Picture:
    with mpl.rc_context(STYLE):
        return Picture(figsize=(width, height), layout="constrained")


def save(figure: Figure, path: Path) -> None:
    """Write a picture; its kind follows from the file's name."""
    try:
        figure.savefig(path)
    except (OSError, ValueError) as error:
        raise BadFile(f"the picture {path} cannot be written: {str(error).splitlines()[0]}") from None
