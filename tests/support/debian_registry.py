"""Debian's docker-registry on loopback, for tests of `push` and of `oci://` sources."""

import contextlib
import pathlib
import shutil
import socket
import ssl
import subprocess
import time
import urllib.request

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]


def needed(name: str) -> str:
    found = shutil.which(name) or shutil.which(name, path=str(ROOT / "build" / "oras"))
    if not found:
        pytest.skip(f"{name} is not on this machine; scripts/apt-packages.txt has docker-registry and skopeo, scripts/oras_setup.sh makes oras")
    return found


@contextlib.contextmanager
def registry_in(folder: pathlib.Path, tls: str = "", ca: pathlib.Path | None = None):
    """Starts Debian's registry on loopback and gives its host. `tls`: words for its configuration."""
    program = needed("docker-registry")
    tmp_path = folder
    trust = ssl.create_default_context(cafile=ca) if ca else None
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    (tmp_path / "registry.yml").write_text(
        f"version: 0.1\nlog: {{level: error}}\nstorage: {{filesystem: {{rootdirectory: {tmp_path}/store}}}}\nhttp: {{addr: '127.0.0.1:{port}'{tls}}}\n")
    with open(tmp_path / "registry.log", "wb") as log:
        running = subprocess.Popen([program, "serve", "registry.yml"], cwd=tmp_path, stdout=log, stderr=log)
    for _ in range(200):
        try:
            urllib.request.urlopen(f"http{'s' if trust else ''}://127.0.0.1:{port}/v2/", timeout=1, context=trust).close()
            break
        except OSError:
            time.sleep(0.05)
    else:
        running.kill()
        pytest.fail((tmp_path / "registry.log").read_text())
    try:
        yield f"127.0.0.1:{port}"
    finally:
        running.terminate()
        running.wait()
