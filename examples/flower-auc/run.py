"""Runs the example: `python run.py processes` or `python run.py simulation`; ends all that it started.

`processes`: a SuperLink and a SuperNode for each site, each a process of its own, as on different machines.
`simulation`: a SuperLink with Flower's own simulation of the sites.
"""

import os
import socket
import subprocess
import sys
import tempfile
import time
import tomllib
from pathlib import Path

HERE = Path(__file__).resolve().parent
BIN = Path(sys.executable).parent
SITES = tomllib.loads((HERE / "pyproject.toml").read_text())["tool"]["flwr"]["app"]["config"]["sites"]


def free_ports(count: int) -> list[int]:
    held = [socket.socket() for _ in range(count)]
    for each in held:
        each.bind(("127.0.0.1", 0))
    ports = [each.getsockname()[1] for each in held]
    for each in held:
        each.close()
    return ports


def wait_for(port: int, process: subprocess.Popen, seconds: float = 120) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end and process.poll() is None:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.2)
    raise SystemExit(f"nobody listens on port {port}")


def main(way: str) -> int:
    port, *nodes = free_ports(1 + SITES)
    with tempfile.TemporaryDirectory() as home:
        address = f"127.0.0.1:{port}"
        settings = (
            f'[superlink]\ndefault = "here"\n[superlink.here]\naddress = "{address}"\ninsecure = true\n'
        )
        (Path(home) / "config.toml").write_text(settings)
        environment = os.environ | {
            "FLWR_HOME": home,
            "FLWR_TELEMETRY_ENABLED": "0",
            "RAY_USAGE_STATS_ENABLED": "0",
            "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}",
        }
        started: list[subprocess.Popen] = []

        def start(name: str, *options: object) -> subprocess.Popen:
            command = [str(BIN / name), "--insecure", *map(str, options)]
            started.append(
                subprocess.Popen(
                    command,
                    env=environment,
                    stdout=(Path(home) / f"{len(started)}.log").open("wb"),
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                )
            )
            return started[-1]

        try:
            link = start(
                "flower-superlink",
                *("--port", port),
                "--disable-runtime-dependency-installation",
                *(["--simulation"] if way == "simulation" else []),
            )
            wait_for(port, link)
            flwr = [str(BIN / "flwr")]
            if way == "processes":
                for site, own in enumerate(nodes):
                    node = f"partition-id={site} num-partitions={SITES}"
                    start("flower-supernode", "--superlink", address, "--port", own, "--node-config", node)
            else:
                size = ["--num-supernodes", str(SITES)]
                subprocess.run(
                    [*flwr, "federation", "simulation-config", "@none/default", "here", *size],
                    env=environment,
                    check=True,
                )
            done = subprocess.run([*flwr, "run", str(HERE), "here", "--stream"], env=environment, timeout=900)
            return done.returncode
        finally:
            for process in reversed(started):
                process.terminate()
            for process in started:
                try:
                    process.wait(30)
                except subprocess.TimeoutExpired:
                    process.kill()
            for log in sorted(Path(home).glob("*.log")) if "-v" in sys.argv else ():
                print(log.name, log.read_text(), file=sys.stderr)


if __name__ == "__main__":
    if len(sys.argv) < 2 or sys.argv[1] not in ("processes", "simulation"):
        raise SystemExit("python run.py processes, or python run.py simulation")
    raise SystemExit(main(sys.argv[1]))
