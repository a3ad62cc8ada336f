"""Put tables into the pages while the site is built: ``{{ name }}`` on a line of its own is one of them.

They are made from the rows in experiments/results and from benchmarks/results.json, so a new measurement
shows up with the next build. A name that nobody makes fails the build.
"""

import re
import sys
from pathlib import Path
from typing import Any

from mkdocs.exceptions import PluginError

sys.path.insert(0, str(Path(__file__).parents[2]))

from dpairs.errors import DpairsError
from experiments import exhibits

PLACE = re.compile(r"^\{\{ ([\w-]+) \}\}$", re.MULTILINE)


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Fill in the tables of one page."""
    try:
        return PLACE.sub(lambda match: exhibits.text(match[1]), markdown)
    except DpairsError as error:
        raise PluginError(f"{page.file.src_uri}: {error}") from None
