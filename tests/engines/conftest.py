"""One Spark cluster for all tests: two workers without dpairs, of which one does not see a folder."""

import shutil

import pytest

from .failing import has_dpairs
from .spark_cluster import QUICK, Cluster, hiding, python_without_dpairs


@pytest.fixture(scope="session")
def cluster(tmp_path_factory):
    pytest.importorskip("pyspark", reason="Spark is not installed: the extra 'spark' has it.")
    if shutil.which("java") is None:
        pytest.skip("Spark needs Java, which is not installed.")
    folder = tmp_path_factory.mktemp("cluster")
    (folder / "unseen").mkdir()
    with Cluster(folder) as made:
        made.worker("whole")
        made.worker("blind", hiding(folder / "unseen") or [])
        yield made


@pytest.fixture(scope="session")
def spark(cluster):
    """A session as the library starts it, of a driver within this process."""
    from dpairs.engines.cluster import session
    from dpairs.engines.postgresql import settings_of_jdbc

    settings = settings_of_jdbc() | {
        "spark.executor.memory": "512m",
        "spark.executor.cores": "1",
        "spark.cores.max": "2",
        "spark.driver.extraJavaOptions": QUICK,
        "spark.executor.extraJavaOptions": QUICK,
        # 200, Spark's own choice, are more tasks than most of these files have rows. Not 4, which tests ask
        # for: Spark would take the one shuffle for the other.
        "spark.sql.shuffle.partitions": "3",
    }
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYSPARK_PYTHON", str(python_without_dpairs(cluster.folder)))
        patch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
        made = session(cluster.address, settings)
        tasks = made.sparkContext.parallelize(range(4), 4)
        assert tasks.map(has_dpairs).sum() == 0, "executors get dpairs with the job, and only so"
        yield made
        made.stop()
