"""The command, as the tests of this folder run it, and a server for it."""

import http.server
import os
import pathlib
import signal
import subprocess
import sys
import threading
import time

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "support"))
from multipart_answer import multipart  # noqa: E402

LEAF = 65_536
PROGRAM = pathlib.Path(os.environ.get("FATCTX_BUILD", ROOT / "build" / "release")) / "tools" / "fatctx"


@pytest.fixture()
def program() -> pathlib.Path:
    if not PROGRAM.exists():
        pytest.skip(f"{PROGRAM} is not built; scripts/build.sh does")
    return PROGRAM


@pytest.fixture()
def fatctx(program, tmp_path):
    """Returns fatctx(arguments), which runs in the folder of the test and fails unless it exits with `exits`.
    Keywords go to subprocess.run()."""

    def run(*arguments: str, exits: int = 0, **how) -> subprocess.CompletedProcess:
        done = subprocess.run([program, *map(str, arguments)], capture_output=True, text=True, check=False, **{"cwd": tmp_path, **how})
        assert done.returncode == exits, done.stderr
        return done

    return run


@pytest.fixture()
def start(program, tmp_path):
    """Returns start(arguments), which begins a run of the command in the folder of the test, for tests that end it."""

    def begin(*arguments: str, **how) -> subprocess.Popen:
        # Background jobs of a shell inherit an ignored SIGINT, and the command leaves it ignored.
        return subprocess.Popen([program, *map(str, arguments)], text=True, preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
                                **{"cwd": tmp_path, "stderr": subprocess.PIPE, **how})

    return begin


class Server:
    """Serves one file with ranges. `spoil` changes an answer: it takes the handler, the range and the bytes, sends what
    it wants and returns True, or returns False for the ordinary answer. `several`: what it does with a request for several
    ranges; for `spoil`, the first of them is the range, and all are `handler.ranges`."""

    def __init__(self, path: pathlib.Path):
        self.path = path
        self.read = None
        self.spoil = None
        self.several = "parts"  # or "one": the first of them; "span": all from first to last; "whole"; or a status
        self.etag = '"1"'
        self.requests = []
        self.sent = 0
        server = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def do_GET(self):
                server.requests.append(dict(self.headers) | {"path": self.path})
                data = server.bytes()
                words = self.headers.get("Range", "")
                end = len(data) - 1
                pairs = [word.split("-") for word in words.removeprefix("bytes=").split(",")] if words else [(0, end)]
                self.ranges = [(int(first), min(int(last), end)) for first, last in pairs]
                first, last = self.ranges[0]
                if server.spoil and server.spoil(self, (first, last), data):
                    self.close_connection = True
                    return
                is_same = words and self.headers.get("If-Range", server.etag) == server.etag
                if is_same and len(self.ranges) > 1 and server.several == "parts":
                    kind, body = multipart(data, self.ranges)
                    server.sent -= len(body) - sum(last + 1 - first for first, last in self.ranges)  # counts bytes of the file
                    return self.answer(206, body, None, [("Content-Type", kind)])
                if is_same and len(self.ranges) > 1 and isinstance(server.several, int):
                    return self.answer(server.several, b"no", None)
                if len(self.ranges) > 1 and server.several == "span":
                    last = self.ranges[-1][1]
                if is_same and (len(self.ranges) == 1 or server.several != "whole"):
                    self.answer(206, data[first:last + 1], f"bytes {first}-{last}/{len(data)}")
                else:
                    self.answer(200, data, None)

            def answer(self, status, body, content_range, extra=()):
                self.send_response(status)
                if content_range:
                    self.send_header("Content-Range", content_range)
                self.send_header("ETag", server.etag)
                self.send_header("Content-Length", str(len(body)))
                for name, value in extra:
                    self.send_header(name, value)
                self.end_headers()
                try:
                    self.wfile.write(body)
                    server.sent += len(body)
                except OSError:
                    pass  # the client has seen enough

        self.http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_port}/model.fatctx"
        threading.Thread(target=self.http.serve_forever, daemon=True).start()

    def slowly(self, piece: int, pause: float):
        """Returns a `spoil` that sends payload in pieces with pauses, so that there is time to end the client."""

        def spoil(handler, wanted, data):
            first, last = wanted
            if first < LEAF:
                return False
            handler.send_response(206)
            handler.send_header("Content-Range", f"bytes {first}-{last}/{len(data)}")
            handler.send_header("ETag", self.etag)
            handler.send_header("Content-Length", str(last + 1 - first))
            handler.end_headers()
            try:
                for at in range(first, last + 1, piece):
                    handler.wfile.write(data[at:min(at + piece, last + 1)])
                    time.sleep(pause)
            except OSError:
                pass  # the client has ended
            return True

        return spoil

    def bytes(self):
        """The file, read when it changes: tests serve large ones."""
        now = (self.path, self.path.stat().st_mtime_ns)
        if now != self.read:
            self.read, self.data = now, self.path.read_bytes()
        return self.data

    def stop(self):
        self.http.shutdown()
        self.http.server_close()


@pytest.fixture()
def serve():
    """Returns serve(path), which starts a Server. It ends with the test."""
    if "without HTTP" in os.environ.get("FATCTX_FETCH", ""):
        pytest.skip("this build has no HTTP")
    servers = []

    def start(path: pathlib.Path) -> Server:
        servers.append(Server(path))
        return servers[-1]

    yield start
    for server in servers:
        server.stop()
