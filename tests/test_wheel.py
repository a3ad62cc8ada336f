"""What is built is what works: the wheel in clean environments, with each extra and each install line.

The versions are those of ``constraints.txt``. Without a package index nothing can be installed: the end of a
run then says what was not tested.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import venv
import zipfile
from collections.abc import Callable, Iterable
from email.parser import Parser
from pathlib import Path

import pytest

pytestmark = pytest.mark.wheel
ROOT = Path(__file__).parents[1]
PATIENCE = 600.0
"""Seconds until an installation is taken to hang; Spark is large."""
LINE = re.compile(r"pip install ['\"]?(?:dpairs|\.)(?:\[([a-z,]+)\])?['\"]?(?=[\s`\\])")
PAGES = [
    ROOT / "README.md",
    ROOT / "js" / "README.md",
    *sorted((ROOT / "docs").rglob("*.md")),
    *sorted((ROOT / "examples").glob("*.ipynb")),
]
PROGRAMS = [ROOT / "src/dpairs/collector/web/static/participant/steps.js"]
"""Pages that are made by a program show install lines too."""
STUDY = """import dpairs
study = dpairs.Study.create("auc", epsilon=2.0, domain=dpairs.Interval(0, 1), bins=8, seed=1)
"""
PEOPLE = "people = {'score': [0.1, 0.9] * 50, 'label': [0, 1] * 50}\n"
CORE = (
    "import sys\n"
    + STUDY
    + PEOPLE
    + """
assert dpairs.simulate(study, people, seed=1).n == 100
report = dpairs.Participant(study, index=17, stratum="positive").report(score=0.73)
tally = dpairs.Tally(study)
tally.add(dpairs.Report.from_bytes(bytes(report), study))
assert tally.n == 1
assert not {"narwhals", "pandas", "matplotlib", "pyarrow"} & set(sys.modules)
"""
)
PAIRS = """
import dpairs
levels = (dpairs.Levels(range(4)),) * 2
study = dpairs.Study.create("kendall_tau", protocol="pairwise", epsilon=2.0, domain=levels, seed=1)
dpairs.simulate(study, {"x": [0, 1, 2, 3] * 20, "y": [0, 1, 3, 2] * 20}, seed=1, crypto="real")
"""
FILES = (
    STUDY
    + PEOPLE
    + """
from dpairs.engines import simulate_reports, tally_with_duckdb
simulate_reports(study, people, "reports", seed=1)
assert tally_with_duckdb(study, ["reports/**/*.parquet"]).tally.estimate().n
"""
)
JOIN = (
    STUDY
    + """
import json, subprocess, sys
from dpairs.client import Analyst
command = [sys.executable, "-m", "dpairs"]
served = subprocess.Popen([*command, "serve", "--port", "0", "--json"], stdout=subprocess.PIPE, text=True)
try:
    said = json.loads(served.stdout.readline())
    link = Analyst(said["address"], said["token"]).begin(study, "Scores")
    answer = ["--stratum", "positive", "--score", "0.73", "--home", "me", "--yes"]
    subprocess.run([*command, "join", link, *answer], check=True)
finally:
    served.terminate()
    served.wait()
"""
)
TWO_LINES = """import dpairs
print(dpairs.auc([0, 1] * 200, [0.2, 0.7] * 200, epsilon=1))
"""
"""From the wheel to a private AUC."""
PLOT = """
import dpairs
estimate = dpairs.auc([0, 1] * 200, [0.2, 0.7] * 200, epsilon=1)
estimate.plot().savefig("estimate.png")
"""
SAVED = """
import dpairs
from dpairs import client
from dpairs.client import Analyst, Device, Link, Transport, join
import dpairs.client.peer
analyst = Analyst("http://127.0.0.1:1", "token", transport=Transport("http://127.0.0.1:1", patience=0))
for wanted in (lambda: client.Gateway, lambda: analyst.save_reports("0" * 64, "here")):
    try:
        wanted()
    except dpairs.Unavailable:
        import pyarrow  # which another extra has brought
    except (ModuleNotFoundError, dpairs.BadParameter) as error:
        assert "pip install 'dpairs[duckdb]'" in str(error)
"""
TASK = """
import subprocess, sys
def dpairs(line):
    subprocess.run([sys.executable, "-m", "dpairs", *line.split()], check=True)
dpairs("study create auc --protocol two_servers -e 1 -d interval:0,1 --bins 8 -o study.json")
servers = "--leader A=http://127.0.0.1:8001 --helper B=http://127.0.0.1:8002"
dpairs(f"server task study.json {servers} --key analyst.key --out task.json")
"""
SERVER = (
    TASK
    + """
dpairs("server key shared.key")
command = [sys.executable, "-m", "dpairs", "serve", "--role", "helper", "--port", "0", "--json"]
command += ["--accept", "task.json", "--secret", "shared.key", "--workers", "1"]
served = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
try:
    assert '"role": "helper"' in served.stdout.readline()
finally:
    served.terminate()
    served.wait()
"""
)
SERVICE = """
from dpairs.collector import Service, Settings, create_app
import uvicorn
service = Service(Settings(database="sqlite:///c.sqlite"))
create_app(service)
service.close()
"""
COMMANDS = (
    "import subprocess, sys\n"
    + STUDY
    + """
command = [sys.executable, "-m", "dpairs"]
with open("people.csv", "w") as file:
    print("score,label", *["0.1,0", "0.9,1"] * 50, sep="\\n", file=file)
for line in (
    "study create auc --epsilon 1 --domain interval:0,1 --bins 16 --out study.json",
    "simulate study.json people.csv --runs 5 --plot runs.png",
):
    subprocess.run([*command, *line.split()], check=True)
"""
)
PROOFS = {
    "": CORE,
    "cli": COMMANDS,
    "plots": PLOT,
    "pairs": PAIRS,
    "vdaf": "import dpairs.vdaf.hpke, dpairs.vdaf.instances, dpairs.vdaf.pingpong",
    "servers": "import dpairs.vdaf.batch.server",
    "client": SAVED,
    "service": SERVICE,
    "postgresql": "import psycopg",
    "duckdb": FILES,
    "spark": "from dpairs.engines.on_spark import tally_with_spark; import pyspark.sql",
    "adbc": "import adbc_driver_postgresql.dbapi, duckdb; from dpairs.engines import tally_with_duckdb",
    "delta": "import deltalake, duckdb; from dpairs.engines import tally_with_duckdb",
    "iceberg": "import pyiceberg.table, duckdb; from dpairs.engines import tally_with_duckdb",
    "experiments": "import sklearn, pandas, matplotlib",
}
"""For each extra, a program that needs all of it and nothing else; also of those that come together below."""
EXTRAS = sorted(set(PROOFS) - {"", "experiments"})
"""Those for users; experiments are run in a clone."""
WAREHOUSES = {"adbc", "delta", "iceberg"}
"""Those that the extra `all` leaves out."""
TOGETHER = {
    ("cli", "client", "service"): JOIN,
    ("cli", "client", "vdaf"): TASK,
    ("cli", "client", "service", "servers"): SERVER,
}
ABSENT = {
    "": {"typer", "rich", "matplotlib", "pyarrow", "pandas", "urllib3", "cryptography"},
    "vdaf": {"numba", "rbcl"},
    "service": {"numba", "psycopg", "pyspark", "duckdb", "typer"},
    "duckdb": {"pyspark", "pandas", "typer"},
    "spark": {"duckdb"},
    "client": {"pyarrow", "typer", "fastapi"},
}
"""What an extra must not bring."""
WRITTEN = """
from dpairs.engines import simulate_reports
simulate_reports(study, people, "reports", seed=1)
open("study.json", "w").write(study.to_json())
"""
REFUSALS = {
    "": {"--help": "pip install 'dpairs[cli]'"},
    "cli": {
        f"join http://127.0.0.1:1/take-part/{'0' * 64}": "pip install 'dpairs[client]'",
        "serve": "pip install 'dpairs[service]'",
        "tally study.json reports/**/*.parquet --out tally.json": "pip install 'dpairs[duckdb]'",
    },
}
"""Commands that need one more extra than there is."""


def written() -> dict[str, list[str]]:
    """The extras of every install line, sorted, and the pages that show it."""
    lines: dict[str, list[str]] = {}
    for page in [*PAGES, *PROGRAMS]:
        for extras in LINE.findall(page.read_text()):
            lines.setdefault(",".join(sorted(filter(None, extras.split(",")))), []).append(page.name)
    return lines


def in_environments(name: str, extras: Iterable[str]) -> pytest.MarkDecorator:
    """A case for each environment; those of one environment go to one worker, which makes it once."""
    groups = [pytest.param(each, marks=pytest.mark.xdist_group(each), id=each or "core") for each in extras]
    return pytest.mark.parametrize(name, groups)


def run(*command: object, folder: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        list(map(str, command)), cwd=folder, capture_output=True, text=True, timeout=PATIENCE, check=False
    )


@pytest.fixture(scope="session")
def wheel(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    pip = [sys.executable, "-m", "pip", "--quiet"]
    probe = run(*pip, "download", "--retries", "0", "--no-deps", "--dest", folder / "probe", "hatchling")
    if probe.returncode:
        pytest.skip("the built wheel and the install lines (no package index can be reached)")
    built = run(*pip, "wheel", "--no-deps", "--wheel-dir", folder, ROOT)
    assert built.returncode == 0, built.stderr
    (path,) = folder.glob("dpairs-*.whl")
    return path


@pytest.fixture(scope="session")
def installed(wheel, tmp_path_factory) -> Callable[[str], Path]:
    """The Python of a clean environment with the wheel and these extras."""
    made: dict[str, Path] = {}

    def make(extras: str) -> Path:
        if extras not in made:
            folder = tmp_path_factory.mktemp("environment")
            venv.create(folder, with_pip=False)
            python = folder / ("Scripts" if sys.platform == "win32" else "bin") / "python"
            wanted = f"dpairs[{extras}] @ {wheel.as_uri()}"
            done = run(sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--no-compile",
                       "--constraint", ROOT / "constraints.txt", wanted)  # fmt: skip
            assert done.returncode == 0, done.stderr
            made[extras] = python
        return made[extras]

    return make


def proves(python: Path, program: str, folder: Path) -> None:
    done = run(python, "-I", "-W", "error", "-c", program, folder=folder)
    assert done.returncode == 0, done.stdout + done.stderr


@in_environments("extra", ["", *EXTRAS])
def test_an_extra_brings_what_it_is_for_and_no_more(extra, installed, tmp_path):
    python = installed(extra)
    proves(python, PROOFS[extra], tmp_path)
    listing = (
        "import importlib.metadata as m, json; print(json.dumps([d.name.lower() for d in m.distributions()]))"
    )
    names = set(json.loads(run(python, "-I", "-c", listing).stdout))
    assert {"dpairs", "numpy", "scipy"} <= names
    assert not names & ABSENT.get(extra, set())
    if not extra:
        assert names == {"dpairs", "numpy", "scipy", "narwhals"}


@in_environments("extras", written())
def test_an_install_line_is_enough_for_what_it_is_for(extras, installed, tmp_path):
    names = tuple(filter(None, extras.split(",")))
    for name in ["", *names]:
        place = tmp_path / (name or "core")
        place.mkdir()
        proves(installed(extras), PROOFS[name], place)
    for needed, program in TOGETHER.items():
        if set(needed) <= set(names):
            proves(installed(extras), program, tmp_path)


@in_environments("extra", REFUSALS)
def test_without_another_extra_a_command_says_which(extra, installed, tmp_path):
    python = installed(extra)
    if extra == "cli":
        proves(python, STUDY + PEOPLE + WRITTEN, tmp_path)
    for command, words in REFUSALS[extra].items():
        done = run(python, "-m", "dpairs", *command.split(), folder=tmp_path)
        assert done.returncode != 0
        assert words in " ".join((done.stdout + done.stderr).split())


@in_environments("extra", [""])
def test_a_private_auc_is_two_lines_away(extra, installed, tmp_path):
    done = run(installed(extra), "-I", "-W", "error", "-c", TWO_LINES, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "95% interval" in done.stdout


def test_join_follows_an_install_line_that_is_enough_for_it():
    """A page that shows ``dpairs join`` below an install line shows the extra for it."""
    shown = 0
    for page in [*PAGES, *PROGRAMS]:
        for block in re.findall(r"```console\n(.*?)```|element\(\"pre\"(.*?)\n", page.read_text(), re.DOTALL):
            text = "".join(block)
            if "dpairs join" in text and (line := LINE.search(text)):
                shown += 1
                assert {"cli", "client"} <= set(line[1].split(",")), page
    assert shown >= 2


def test_all_is_everything_for_users(wheel):
    with zipfile.ZipFile(wheel) as file:
        (name,) = [name for name in file.namelist() if name.endswith(".dist-info/METADATA")]
        metadata = Parser().parsestr(file.read(name).decode())
        inside = file.namelist()
    brought: dict[str, set[str]] = {}
    for line in metadata.get_all("Requires-Dist", []):
        for extra in re.findall(r"extra == '(\w+)'", line):
            brought.setdefault(extra, set()).add(re.split(r"[^\w-]", line)[0])
    assert brought["all"] == set().union(*(brought[extra] for extra in set(EXTRAS) - WAREHOUSES))
    tools = {"all", "test", "check", "docs", "bench", "release"}
    assert set(metadata.get_all("Provides-Extra", [])) == set(PROOFS) - {""} | tools
    assert not [
        name for name in inside if "node_modules" in name or name.startswith(("experiments", "tests"))
    ]
    assert "dpairs/collector/web/dpairs/index.js" in inside
