"""Show the version below every page, and the repository above it where `pyproject.toml` says what it is.

The version is that of the installed package; licence and address are written in `pyproject.toml` alone.
"""

import tomllib
from importlib.metadata import version
from pathlib import Path
from typing import Any


def on_config(config: Any) -> Any:
    """Fill in what the theme shows."""
    project = tomllib.loads((Path(config.config_file_path).parent / "pyproject.toml").read_text())["project"]
    config.copyright = f"dpairs {version('dpairs')}, {project['license']} licence"
    config.repo_url = project.get("urls", {}).get("Repository")
    config.repo_name = "dpairs" if config.repo_url else None
    return config
