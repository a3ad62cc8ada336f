"""Private bits, from the operating system or a tape that is passed in; and public coins.

Nothing else in dpairs draws random numbers.
"""

from .private import (
    KEY,
    WORDS,
    Randomness,
    SecretStream,
    SeededRandomness,
    SystemRandomness,
    TapeRandomness,
    public_seed,
    secret_bytes,
    source,
)

__all__ = [
    "KEY",
    "WORDS",
    "Randomness",
    "SecretStream",
    "SeededRandomness",
    "SystemRandomness",
    "TapeRandomness",
    "public_seed",
    "secret_bytes",
    "source",
]
