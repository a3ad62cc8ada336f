"""A Spark cluster: a session of our own, dpairs for its executors, and what keeps them from working."""

from __future__ import annotations

import logging
import os
import py_compile
import re
import shutil
import sys
import tempfile
import warnings
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Timer
from typing import Any

from ..errors import BadFile, BadParameter
from .files import not_visible

NEEDED = ("numpy", "scipy", "pyarrow", "pandas")
"""What executors must have. dpairs comes with the job."""
EDGES = ("cli", "client", "collector")
"""Parts of the package that no executor needs."""
LOOKED = 64
"""Files whose names executors are asked to see before the job begins."""
PATIENCE = 300.0
"""Seconds for a cluster to find an executor; some start machines for it."""
ARCHIVE = "dpairs-for-executors.zip"
UNCHECKED = py_compile.PycInvalidationMode.UNCHECKED_HASH
"""Archives keep no time of their files to compare; another version of Python takes the source."""
SILENCE = """
appender.nowhere.type = Null
appender.nowhere.name = nowhere
rootLogger.level = off
rootLogger.appenderRef.nowhere.ref = nowhere
"""
"""Settings of Java's log. Without an appender Spark would take its own."""
log = logging.getLogger(__name__)


def session(master: str | None = None, settings: dict[str, str] | None = None) -> Any:
    """A quiet Spark session; ``master`` as Spark names it, or by default all cores of this machine."""
    try:
        from pyspark.errors import PySparkException
        from pyspark.sql import SparkSession
    except ImportError:
        raise BadParameter("engine 'spark' needs pyspark: pip install 'dpairs[spark]'") from None
    _check_java()
    # What goes wrong comes back as an error, and is told in one sentence.
    quiet = {"spark.ui.enabled": "false", "spark.log.level": "OFF", "spark.app.name": "dpairs"}
    warnings.filterwarnings("ignore", message="PySpark does not yet fully support pandas")
    quiet["spark.ui.showConsoleProgress"] = str(sys.stderr.isatty()).lower()
    # The Python that runs here: clusters whose machines are alike have it, and `check` says if not.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.master(master or "local[*]")
    for name, value in (quiet | (settings or {})).items():
        builder = builder.config(name, value)
    try:
        with _quiet_start():
            return builder.getOrCreate()
    except (PySparkException, OSError, RuntimeError) as error:
        raise BadParameter(f"Spark cannot start: {_first_line(error)}; is Java installed?") from None


@contextmanager
def _quiet_start() -> Iterator[None]:
    """Keep Java from logging before it has read a setting; whoever has options of his own keeps them."""
    before = os.environ.get("SPARK_SUBMIT_OPTS")
    with tempfile.TemporaryDirectory(prefix="dpairs-") as folder:
        settings = Path(folder) / "log4j2.properties"
        settings.write_text(SILENCE)
        os.environ["SPARK_SUBMIT_OPTS"] = f"{before or ''} -Dlog4j2.configurationFile={settings}".strip()
        try:
            yield
        finally:
            if before is None:
                del os.environ["SPARK_SUBMIT_OPTS"]
            else:
                os.environ["SPARK_SUBMIT_OPTS"] = before


def _check_java() -> None:
    """Say that Java is missing before Spark's own scripts say it, in many words."""
    from pyspark import SparkContext

    home = os.environ.get("JAVA_HOME")
    java = os.path.join(home, "bin", "java") if home else "java"
    if SparkContext._active_spark_context is None and shutil.which(java) is None:
        where = f"JAVA_HOME has none: {home}" if home else "none is on the path"
        raise BadParameter(f"Spark cannot start without Java, and {where}")


def prepare(spark: Any, paths: Sequence[str] = ()) -> None:
    """Give dpairs to the executors, and ask them whether they can work and see these local files."""
    context = getattr(spark, "sparkContext", None)
    if context is None:
        raise BadParameter("tallies need a Spark session of its own driver: Spark Connect has no executors")
    archive = Path(context._temp_dir) / ARCHIVE
    if not archive.exists():
        _pack(archive)
        importable = list(sys.path)
        context.addPyFile(str(archive))
        # It is for executors: here, and in processes that begin here, the whole package is the one to import.
        sys.path[:] = importable
    elif not paths:
        return  # they were asked before
    for said in _asked(context, paths):
        _check(said)


def _pack(archive: Path) -> None:
    """The package as it runs here, without its edges; compiled, or every worker's process would do so."""
    package, compiled = Path(__file__).parents[1], archive.with_suffix(".pyc")
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as file:
        for path in sorted(package.rglob("*.py")):
            name = path.relative_to(package)
            if name.parts[0] not in EDGES:
                file.write(path, Path(package.name) / name)
                py_compile.compile(str(path), str(compiled), invalidation_mode=UNCHECKED)
                file.write(compiled, Path(package.name) / name.with_suffix(".pyc"))
    compiled.unlink()


def _asked(context: Any, paths: Sequence[str]) -> list[dict[str, Any]]:
    """What executors say of themselves; one core asks for each task, so that most of them are reached."""
    needed, some = NEEDED, list(paths)[:: max(1, len(paths) // LOOKED)][:LOOKED]

    def look(_: Iterator[int]) -> Iterator[dict[str, Any]]:
        # Sent as code, with nothing but Python's own modules: dpairs may not be importable there.
        import importlib.util
        import os
        import platform
        import sys

        yield {
            "host": platform.node(),
            "python": sys.executable,
            "missing": [name for name in needed if importlib.util.find_spec(name) is None],
            "unseen": [path for path in some if not os.access(path, os.R_OK)],
        }

    tasks = max(2, context.defaultParallelism)
    idle = Timer(PATIENCE, _give_up, [context])
    idle.daemon = True
    idle.start()
    try:
        answers: list[dict[str, Any]] = context.parallelize(range(tasks), tasks).mapPartitions(look).collect()
    except Exception as error:  # py4j's and pyspark's errors have no common type
        if not _executors(context):
            raise BadParameter(
                f"no worker of the cluster {context.master} has taken up the work: "
                "is there one with a free core and the memory that spark.executor.memory asks for?"
            ) from None
        raise BadParameter(explain(error)) from None
    finally:
        idle.cancel()
    return answers


def _executors(context: Any) -> int:
    """How many executors there are; the driver of a session on this machine alone is one itself."""
    try:
        there = len(context._jsc.sc().statusTracker().getExecutorInfos())
    except Exception as error:  # as above; Spark stops a session whose cluster it cannot reach
        log.info("Spark does not say how many executors there are: %s", type(error).__name__)
        return 0
    return there - (not context.master.startswith("local"))


def _give_up(context: Any) -> None:
    """End jobs that nobody works on: Spark would wait for a worker forever, and say so in its log only."""
    if not _executors(context):
        context.cancelAllJobs()


def _check(said: dict[str, Any]) -> None:
    if said["missing"]:
        raise BadParameter(_without(said["host"], ", ".join(said["missing"]), said["python"]))
    if said["unseen"]:
        raise BadFile(not_visible(said["unseen"][0], said["host"]))


def _without(host: str, modules: str, python: str = "") -> str:
    where = f" ({python})" if python else ""
    return (
        f"Python on worker {host}{where} has no {modules}: "
        f"set PYSPARK_PYTHON to one there that has {', '.join(NEEDED)}"
    )


def explain(error: Exception) -> str:
    """One sentence of what Spark says in a hundred lines."""
    text = str(error)
    lost = re.search(r"\(TID \d+\) \((\S+) executor \S+\)", text)
    host = lost[1] if lost else "of the cluster"
    if absent := re.search(r'Cannot run program "([^"]+)"', text):
        return f"worker {host} has no Python at {absent[1]}: set PYSPARK_PYTHON to one that it has"
    if module := re.search(r"No module named '([\w.]+)'", text):
        return _without(host, module[1])
    if "PYTHON_VERSION_MISMATCH" in text:
        there = re.search(r"different version:? \(?'?(\d+)[.,'\s]+(\d+)", text)
        version = f" {there[1]}.{there[2]}" if there else ""
        here = f"{sys.version_info.major}.{sys.version_info.minor}"
        return f"worker {host} runs Python{version}, and {here} runs here: set PYSPARK_PYTHON to {here} there"
    if file := re.search(r"reading file (?:file://?)?(\S+?)\.? File does not exist", text):
        return not_visible(file[1], host)
    if file := re.search(r"FileNotFoundException: (?:File )?(?:file:)?(\S+)", text):
        return not_visible(file[1], host)
    if scheme := re.search(r'No FileSystem for scheme "?(\w+)|ClassNotFoundException: Class (\S+)', text):
        return f"Spark has no jar for these addresses ({scheme[1] or scheme[2]}): add it with spark.jars"
    return f"Spark could not count the reports: {_first_line(error)}"


def _first_line(error: Exception) -> str:
    """The innermost cause: what stands before it is a frame around a frame."""
    text = str(error).strip()
    causes = re.findall(r"^(?:Caused by: )?[\w.$]+(?:Exception|Error): (.+)$", text, re.MULTILINE)
    return (causes or text.splitlines() or [type(error).__name__])[-1 if causes else 0][:300].rstrip(".")
