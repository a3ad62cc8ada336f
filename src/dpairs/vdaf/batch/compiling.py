"""How functions of this package are compiled: once, kept on disk, without the interpreter's lock.

numba keeps compiled code in ``__pycache__`` beside the source, in the user's cache folder where that cannot
be written, or in ``NUMBA_CACHE_DIR``. Where nothing can be written, every start compiles anew. The kept code
is renewed when the file of the function changes, not when a file that it calls does: after a change of
`elements`, remove ``__pycache__``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba

F = TypeVar("F", bound=Callable[..., Any])


def compiled(function: F) -> F:
    """The function, compiled at its first call for each kind of argument."""
    try:
        return cast(F, numba.njit(nogil=True, cache=True)(function))
    except RuntimeError:  # there is no folder to keep it in
        return cast(F, numba.njit(nogil=True)(function))
