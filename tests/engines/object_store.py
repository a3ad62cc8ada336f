"""Object stores on this machine: Ceph's radosgw, which many sites run, and moto, which imitates Amazon's."""

import contextlib
import os
import shutil
import subprocess
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyarrow import fs
from urllib3 import PoolManager, Retry

from ..ports import free_port, free_ports

KEY, SECRET = "DPAIRSTESTKEY", "dpairs-test-secret"
PROGRAMS = ("ceph", "ceph-mon", "ceph-osd", "monmaptool", "radosgw", "radosgw-admin")
SETTINGS = """
[global]
fsid = {fsid}
mon host = v1:127.0.0.1:{port}
auth cluster required = none
auth service required = none
auth client required = none
admin socket =
run dir = {folder}
log file = {folder}/$name.log
keyring = {folder}/keyring
plugin dir = {library}/ceph
erasure code dir = {library}/ceph/erasure-code
osd class dir = {library}/rados-classes
osd objectstore = memstore
memstore device bytes = 4294967296
osd data = {folder}/osd
mon data = {folder}/mon
osd pool default size = 1
osd pool default min size = 1
osd pool default pg num = 8
mon allow pool size one = true
osd crush chooseleaf type = 0
osd crush update on start = false
osd class update on start = false
ms bind msgr2 = false
rgw data = {folder}/rgw
rgw frontends = beast endpoint=127.0.0.1:{web}
"""


@contextlib.contextmanager
def bucket(server: str, folder: Path) -> Iterator[str]:
    """The address of a new bucket at a server, ``radosgw`` or ``moto``, that the environment then names."""
    with SERVERS[server](folder) as address, pytest.MonkeyPatch.context() as patch:
        patch.setenv("AWS_ACCESS_KEY_ID", KEY)
        patch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
        patch.setenv("AWS_ENDPOINT_URL", address)
        patch.setenv("AWS_EC2_METADATA_DISABLED", "true")
        # Ceph of Debian 12 does not know the checksums that Amazon's library sends by default since 2025.
        patch.setenv("AWS_REQUEST_CHECKSUM_CALCULATION", "when_required")
        patch.setenv("AWS_RESPONSE_CHECKSUM_VALIDATION", "when_required")
        name = f"{server}-reports"
        store, root = fs.FileSystem.from_uri(f"s3://{name}?allow_bucket_creation=true&region=us-east-1")
        store.create_dir(root)
        yield f"s3://{name}"


@contextlib.contextmanager
def running(*command: str, folder: Path) -> Iterator[None]:
    with (folder / f"{Path(command[0]).name}.out").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log)
        try:
            yield
        finally:
            process.kill()
            process.wait()


def wait_for(address: str) -> None:
    """Until a server answers at all."""
    with PoolManager(retries=Retry(connect=12, backoff_factor=0.1)) as pool:
        pool.request("GET", address)


@contextlib.contextmanager
def radosgw(folder: Path) -> Iterator[str]:
    """Ceph with one monitor and one store in memory; the address of its S3 server."""
    missing = [name for name in PROGRAMS if shutil.which(name) is None]
    if missing:
        pytest.skip("Ceph's S3 server is not installed: apt-get install radosgw ceph-mon ceph-osd")
    library = Path(shutil.which("radosgw") or "").resolve().parents[1] / "lib" / "x86_64-linux-gnu"
    port, web = free_ports(2)
    known = {"fsid": str(uuid.uuid4()), "port": port, "web": web, "folder": folder}
    settings = folder / "ceph.conf"
    settings.write_text(SETTINGS.format(library=library, **known))
    for name in ("mon", "osd", "rgw"):
        (folder / name).mkdir()
    (folder / "keyring").touch()

    def do(*command: str) -> None:
        subprocess.run([*command, "-c", str(settings)], check=True, capture_output=True, timeout=120)

    monitor = f"[v1:127.0.0.1:{known['port']}]"
    monitors, disk = str(folder / "monmap"), str(uuid.uuid4())
    subprocess.run(
        ["monmaptool", "--create", "--addv", "a", monitor, "--fsid", str(known["fsid"]), monitors],
        check=True,
        capture_output=True,
    )
    do("ceph-mon", "--mkfs", "-i", "a", "--monmap", monitors)
    with contextlib.ExitStack() as stack:
        stack.enter_context(running("ceph-mon", "-f", "-i", "a", "-c", str(settings), folder=folder))
        do("ceph", "osd", "new", disk)
        do("ceph", "osd", "crush", "add", "osd.0", "1", "root=default")
        do("ceph-osd", "-i", "0", "--mkfs", "--osd-uuid", disk)
        stack.enter_context(running("ceph-osd", "-f", "-i", "0", "-c", str(settings), folder=folder))
        who = ("--uid=tests", "--display-name=tests", f"--access-key={KEY}", f"--secret={SECRET}")
        do("radosgw-admin", "user", "create", *who)
        server = ("radosgw", "-f", "-n", "client.admin", "-c", str(settings))
        stack.enter_context(running(*server, folder=folder))
        address = f"http://127.0.0.1:{known['web']}"
        wait_for(address)
        yield address


@contextlib.contextmanager
def moto(folder: Path) -> Iterator[str]:
    program = shutil.which("moto_server") or str(Path(sys.executable).with_name("moto_server"))
    if not os.path.exists(program):
        pytest.skip("moto's server is not installed: pip install 'moto[s3,server]'")
    port = free_port()
    with running(program, "-H", "127.0.0.1", "-p", str(port), folder=folder):
        address = f"http://127.0.0.1:{port}"
        wait_for(address)
        yield address


SERVERS = {"radosgw": radosgw, "moto": moto}
