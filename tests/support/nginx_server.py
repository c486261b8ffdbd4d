"""nginx on loopback, for tests of sources behind HTTP."""

import contextlib
import os
import pathlib
import shutil
import socket
import subprocess
import time

import pytest


@contextlib.contextmanager
def nginx_in(folder: pathlib.Path, words: str = ""):
    """Serves a folder with nginx, and gives the URL of the folder and the path of the list of requests: a line for each
    one, with status, bytes sent and Range. `words`: for the configuration of the server."""
    program = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")
    if not program:
        pytest.skip("nginx is not on this machine; scripts/apt-packages.txt has it")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    place = folder / "nginx"
    place.mkdir()
    user = "user root;" if os.geteuid() == 0 else ""
    temporary = " ".join(f"{name}_temp_path {place}/{name};" for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
    (place / "conf").write_text(f"""daemon off; pid {place}/pid; error_log {place}/error; worker_processes 1; {user}
events {{}} http {{ log_format one '$status $body_bytes_sent $http_range'; access_log {place}/requests one; {temporary}
server {{ listen 127.0.0.1:{port}; root {folder}; {words} }} }}""")
    server = subprocess.Popen([program, "-c", place / "conf", "-e", place / "error"])
    try:
        for _ in range(200):
            with socket.socket() as ask:
                if ask.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.05)
        else:
            pytest.fail((place / "error").read_text())
        yield f"http://127.0.0.1:{port}", place / "requests"
    finally:
        server.terminate()
        server.wait()
