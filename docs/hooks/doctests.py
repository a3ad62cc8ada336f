"""Show the examples of docstrings as code on the API page.

A docstring's ``>>>`` lines are an example for doctest, but in Markdown they are a quotation. This extension
of griffe puts each such block into a code fence. The API page names it.
"""

import re
from typing import Any

from griffe import Extension, Object

_EXAMPLE = re.compile(r"^>>> .*(?:\n(?!\s*$).+)*", re.MULTILINE)


class Doctests(Extension):
    """Fence the examples of every docstring."""

    def on_object(self, *, obj: Object, **_: Any) -> None:
        """Rewrite one docstring."""
        if obj.docstring:
            obj.docstring.value = _EXAMPLE.sub(r"```pycon\n\g<0>\n```", obj.docstring.value)
