"""The `histogram` protocol: quantize, randomize the bin, average the kernel over decoded reports."""

from .protocol import Histogram

__all__ = ["Histogram"]
