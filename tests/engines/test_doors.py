"""Files, object stores, databases, lakes and frames give one tally, byte for byte."""

import pytest

from .reportfiles import PEOPLE


@pytest.mark.long
@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning", "ignore:PySpark")
def test_the_same_reports_through_every_door(tmp_path):
    for module in ("duckdb", "deltalake", "pyiceberg", "adbc_driver_postgresql"):
        pytest.importorskip(module, reason=f"{module} is not installed.")
    from .doors import every

    assert len({figures["tally"] for _, figures in every(PEOPLE, tmp_path)}) == 1
