r"""Turn the formulas of a page into MathML while the site is built.

`pymdownx.arithmatex` marks `\(...\)`, `$...$`, `\[...\]` and `$$...$$`; this hook converts what it marked.
The reader's browser then needs no script and asks no other host. A formula that would come out wrong
is a warning, so a strict build fails.
"""

import html
import logging
import re
from typing import Any

from latex2mathml.converter import convert

log = logging.getLogger("mkdocs.hooks.math")

_MARKED = re.compile(r'<(span|div) class="arithmatex">\\[(\[](.*?)\\[)\]]</\1>', re.DOTALL)
_TAG = re.compile(r"<[^>]*>")
_BRACE = re.compile(r"(?<!\\)(?:\\\\)*([{}])")


def on_page_content(content: str, page: Any, **_: Any) -> str:
    """Replace the marked formulas of one page."""

    def replace(match: re.Match[str]) -> str:
        tag, source = match[1], html.unescape(match[2]).strip()
        try:
            mathml = _mathml(source, block=tag == "div")
        except Exception as error:
            log.warning("%s: cannot convert the formula %r: %s", page.file.src_uri, source, error)
            return match[0]
        return f'<{tag} class="arithmatex">{mathml}</{tag}>'

    return _MARKED.sub(replace, content)


def _mathml(source: str, *, block: bool) -> str:
    braces = _BRACE.findall(source)
    if braces.count("{") != braces.count("}"):
        raise ValueError("braces do not match")
    # latex2mathml knows `split`, which looks the same, but not `aligned`.
    mathml = convert(source.replace("{aligned}", "{split}"), display="block" if block else "inline")
    # It copies what it does not know, instead of refusing it.
    unknown = re.search(r"\\\w*|&(?!#|\w+;)", _TAG.sub(" ", mathml))
    if unknown:
        raise ValueError(f"{unknown[0]!r} is not known")
    # Not every browser reads `columnalign`; all of them read the style.
    return re.sub(r'columnalign="(\w+)"', r'style="text-align: \1"', mathml)
