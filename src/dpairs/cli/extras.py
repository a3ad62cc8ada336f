"""What a command needs beyond the command line's own packages."""

from __future__ import annotations

import importlib

from ..errors import BadParameter


def need(what: str, extras: str, *modules: str) -> None:
    """Import the modules before anything is begun, or say what to install."""
    try:
        for module in modules:
            importlib.import_module(module)
    except ImportError as error:
        raise BadParameter(f"{what} needs {error.name}: pip install 'dpairs[{extras}]'") from None
