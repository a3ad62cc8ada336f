"""Every notebook of examples/ runs from its first cell to its last, and shows a picture."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import nbformat
import pytest
from jupyter_client.manager import KernelManager, start_new_kernel
from nbclient import NotebookClient

NOTEBOOKS = sorted((Path(__file__).parents[1] / "examples").glob("*.ipynb"))


def test_there_are_notebooks():
    assert len(NOTEBOOKS) >= 3


@pytest.fixture(scope="module")
def kernel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[KernelManager, Path]]:
    """One for all notebooks, in an empty folder: to start it takes longer than to run most of them."""
    folder = tmp_path_factory.mktemp("notebooks")
    manager, client = start_new_kernel(cwd=str(folder))
    client.stop_channels()
    yield manager, folder
    manager.shutdown_kernel(now=True)
    manager.cleanup_resources()


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_and_shows_a_picture(path, kernel):
    manager, folder = kernel
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    assert not any(cell.get("outputs") for cell in notebook.cells), "notebooks are kept without outputs"
    # No name of another notebook is left.
    notebook.cells.insert(0, nbformat.v4.new_code_cell("%reset -f"))
    client = NotebookClient(notebook, km=manager, timeout=300)
    try:
        client.execute()
    finally:
        assert client.kc is not None
        client.kc.stop_channels()
    shown = [output.get("data", {}) for cell in notebook.cells for output in cell.get("outputs", [])]
    assert any("image/png" in data for data in shown)
    assert not list(folder.iterdir()), "a notebook leaves nothing behind"
