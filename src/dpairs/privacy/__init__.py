"""What is promised to each person, what promises add up to, and the book that a person keeps of them."""

from .claim import PrivacyClaim, local_claim

__all__ = ["PrivacyClaim", "local_claim"]
