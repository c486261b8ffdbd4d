"""nginx on loopback, for benches of delivery."""

import os
import pathlib
import socket
import subprocess
import time


class Nginx:
    """Serves a folder on loopback."""

    def __init__(self, folder: pathlib.Path):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        place = folder / "nginx"
        place.mkdir()
        (place / "conf").write_text(f"""daemon off; pid {place}/pid; error_log {place}/error; worker_processes 1;
user {'root' if os.geteuid() == 0 else 'nobody'};
events {{}} http {{ access_log off; client_body_temp_path {place}/b; proxy_temp_path {place}/p; fastcgi_temp_path {place}/f;
uwsgi_temp_path {place}/u; scgi_temp_path {place}/s; server {{ listen 127.0.0.1:{self.port}; root {folder}; }} }}""")
        self.server = subprocess.Popen(["nginx", "-c", place / "conf", "-e", place / "error"])
        for _ in range(100):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            time.sleep(0.1)
        raise SystemExit("nginx did not start")

    def end(self) -> None:
        self.server.terminate()
        self.server.wait()

    def url(self, path: pathlib.Path) -> str:
        return f"http://127.0.0.1:{self.port}/{path.name}"
