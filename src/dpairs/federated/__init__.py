"""A study within a federated tool: what its clients answer, and what its server asks, whatever the tool.

responding    a client's side: one answer for each round, kept in the state that the tool keeps for it
conducting    the server's side: all rounds, and the estimate
"""

from .conducting import Outcome, conduct
from .responding import respond

__all__ = ["Outcome", "conduct", "respond"]
