"""`fatctx fetch` from servers of this test: good ones, broken ones, and hostile ones."""

import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import time

import pytest

LEAF = 65_536


def pattern(size: int, seed: int) -> bytes:
    piece = bytes((i * i + i // 7 * seed + seed) % 251 + 1 for i in range(4093))
    return (piece * (size // len(piece) + 1))[:size]


@pytest.fixture
def container(fatctx, tmp_path) -> pathlib.Path:
    """Four targets of 300 KB each and 4 MB of weights that they share."""
    (tmp_path / "weights.bin").write_bytes(os.urandom(4_000_000))
    arguments = []
    for arch in ("x86-64-v2", "x86-64-v3", "x86-64-v4", "aarch64"):
        (tmp_path / f"{arch}.bin").write_bytes(os.urandom(300_000))
        arguments += ["--binary", f"{arch}.bin@cpu:{arch}"]
    fatctx("pack", "-o", "model.fatctx", "--name", "m", "--weights", "weights.bin", *arguments)
    return tmp_path / "model.fatctx"


@pytest.fixture
def server(container, serve):
    return serve(container)


def fetched(run) -> dict:
    return json.loads(run.stdout)


def test_one_device_gets_its_part_in_a_few_requests(fatctx, server, container, tmp_path):
    told = fetched(fatctx("fetch", server.url, "--device", "x86-64-v3", "-o", "part.fatctx", "--json"))
    assert told["requests"] == len(server.requests) <= 10
    assert told["fetched_bytes"] == server.sent
    needed = 4_000_000 + 300_000
    assert server.sent <= needed * 1.01 + 2 * LEAF + 128 * 1024 < container.stat().st_size
    record = next(name for name in told["records"] if "x86-64-v3" in name)
    fatctx("extract", "part.fatctx", record, "-o", "out.bin")
    assert (tmp_path / "out.bin").read_bytes() == (tmp_path / "x86-64-v3.bin").read_bytes()
    fatctx("verify", "part.fatctx", exits=6)
    assert not (tmp_path / "part.fatctx.fetching").exists()


def test_a_file_is_a_source_too(fatctx, container, tmp_path):
    fatctx("fetch", "model.fatctx", "--all", "-o", "copy.fatctx")
    assert (tmp_path / "copy.fatctx").read_bytes() == container.read_bytes()
    fatctx("fetch", f"file://{container}", "--device", "aarch64", "-o", "part.fatctx")
    assert "source" in fatctx("fetch", "model.fatctx", "--all", "-o", "model.fatctx", "--force", exits=2).stderr
    assert "no such file" in fatctx("fetch", "none.fatctx", "--all", "-o", "out.fatctx", exits=2).stderr


def test_a_dry_run_says_what_it_takes_and_writes_nothing(fatctx, server, tmp_path):
    before = sorted(os.listdir(tmp_path))
    told = fetched(fatctx("fetch", server.url, "--device", "x86-64-v3", "-o", "part.fatctx", "--dry-run", "--json"))
    assert 4_300_000 <= told["more_bytes"] + told["fetched_bytes"] < 4_700_000
    assert told["more_requests"] >= 1
    assert sorted(os.listdir(tmp_path)) == before


def test_what_is_there_is_not_fetched_again(fatctx, server, tmp_path):
    fatctx("fetch", server.url, "--device", "x86-64-v3", "-o", "part.fatctx")
    server.sent = 0
    assert "--more" in fatctx("fetch", server.url, "--device", "aarch64", "-o", "part.fatctx", exits=2).stderr
    told = fetched(fatctx("fetch", server.url, "--device", "aarch64", "-o", "part.fatctx", "--more", "--json"))
    assert server.sent < 700_000
    assert told["reused_bytes"] >= 4_000_000
    assert {"aarch64" in name for name in told["records"]} == {True, False}
    server.sent = 0
    fatctx("fetch", server.url, "--all", "-o", "whole.fatctx", "--from", ".")
    assert server.sent < 1_000_000
    fatctx("verify", "whole.fatctx")


def test_an_interrupted_fetch_goes_on(start, fatctx, server, tmp_path):
    server.spoil = server.slowly(200_000, 0.1)
    running = start("fetch", server.url, "--all", "-o", "part.fatctx")
    part = tmp_path / "part.fatctx.fetching"
    while not part.exists() or os.stat(part).st_blocks * 512 < 1_000_000:
        time.sleep(0.02)
        assert running.poll() is None
    running.send_signal(signal.SIGKILL)
    running.wait()
    assert not (tmp_path / "part.fatctx").exists()

    server.spoil = None
    told = fetched(fatctx("fetch", server.url, "--all", "-o", "part.fatctx", "--json"))
    assert told["present_bytes"] >= 500_000
    assert (tmp_path / "part.fatctx").read_bytes() == server.path.read_bytes()


def test_ctrl_c_keeps_what_came(start, server):
    server.spoil = lambda handler, wanted, data: wanted[0] >= LEAF and time.sleep(3) is None and False
    running = start("fetch", server.url, "--all", "-o", "part.fatctx")
    while len(server.requests) < 2:
        time.sleep(0.02)
    running.send_signal(signal.SIGINT)
    assert "cancelled" in running.communicate(timeout=20)[1]
    assert running.returncode == 5


def broken(server, kind):
    """Returns an answer that is wrong in the way of `kind`, for all requests behind the first bytes."""

    def spoil(handler, wanted, data):
        first, last = wanted
        if first < LEAF and kind not in ("redirects", "not_found", "forbidden", "error"):
            return False
        body, span, status, extra = data[first:last + 1], f"bytes {first}-{last}/{len(data)}", 206, []
        if kind == "whole":
            body, span, status = data, None, 200
        elif kind == "other_range":
            span = f"bytes {first + 1}-{last + 1}/{len(data) + 1}"
        elif kind == "wrong_start":
            span = f"bytes {first - 1}-{last - 1}/{len(data)}"
        elif kind == "gzip":
            extra = [("Content-Encoding", "gzip")]
        elif kind == "zeros":
            body = bytes(len(body))
        elif kind == "damaged":
            body = bytes(byte ^ 1 for byte in body)
        elif kind == "redirects":
            body, span, status, extra = b"", None, 302, [("Location", "/again")]
        elif kind in ("not_found", "forbidden", "error"):
            body, span, status = b"no", None, {"not_found": 404, "forbidden": 403, "error": 503}[kind]
        if kind in ("short", "endless"):
            handler.send_response(206)
            handler.send_header("Content-Range", span)
            handler.send_header("ETag", server.etag)
            if kind == "short":
                handler.send_header("Content-Length", str(len(body)))
                body = b""
            else:
                body = body + bytes(2_000_000)
            handler.send_header("Connection", "close")
            handler.end_headers()
            try:
                handler.wfile.write(body)
            except OSError:
                pass
            return True
        handler.answer(status, body, span, extra)
        return True

    return spoil


@pytest.mark.parametrize("kind, words", [
    ("whole", "replaced on the server"),
    ("other_range", "replaced on the server"),
    ("wrong_start", "other bytes than asked for"),
    ("gzip", "encodes"),
    ("zeros", "damaged"),
    ("damaged", "damaged"),
    ("short", "brought nothing"),
    ("endless", "more bytes than were asked for"),
    ("redirects", "redirects"),
    ("not_found", "does not have it (status 404)"),
    ("forbidden", "--auth-file"),
    ("error", "status 503"),
])
def test_a_server_that_answers_wrongly_is_refused(fatctx, server, tmp_path, kind, words):
    server.spoil = broken(server, kind)
    (tmp_path / "old.fatctx").write_bytes(b"an old file")
    run = subprocess.run([*fatctx_words(fatctx), "fetch", server.url, "--all", "-o", "old.fatctx", "--force", "--retries", "1"],
                         cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert run.returncode in (2, 3, 5), run.stderr
    assert words in run.stderr
    assert server.url in run.stderr
    assert (tmp_path / "old.fatctx").read_bytes() == b"an old file"


def fatctx_words(fatctx):
    return [fatctx.__closure__[0].cell_contents]


def test_a_file_that_is_replaced_meanwhile_is_noticed(fatctx, server, tmp_path):
    def replace(handler, wanted, data):
        if wanted[0] >= LEAF:
            server.etag = '"2"'
        return False

    server.spoil = replace
    assert "replaced on the server" in fatctx("fetch", server.url, "--all", "-o", "out.fatctx", exits=3).stderr
    assert not (tmp_path / "out.fatctx").exists()


def test_a_connection_that_breaks_is_tried_again(fatctx, server, tmp_path):
    def breaking(handler, wanted, data):
        first, last = wanted
        if first < LEAF or len(server.requests) % 2:
            return False
        handler.send_response(206)
        handler.send_header("Content-Range", f"bytes {first}-{last}/{len(data)}")
        handler.send_header("ETag", server.etag)
        handler.send_header("Content-Length", str(last + 1 - first))
        handler.end_headers()
        handler.wfile.write(data[first:first + (last - first) // 2])
        return True

    server.spoil = breaking
    fatctx("fetch", server.url, "--all", "-o", "out.fatctx")
    assert (tmp_path / "out.fatctx").read_bytes() == server.path.read_bytes()


def test_a_slow_drip_counts_as_broken(fatctx, server):
    def drip(handler, wanted, data):
        if wanted[0] < LEAF:
            return False
        handler.send_response(206)
        handler.send_header("Content-Range", f"bytes {wanted[0]}-{wanted[1]}/{len(data)}")
        handler.send_header("ETag", server.etag)
        handler.send_header("Content-Length", str(wanted[1] + 1 - wanted[0]))
        handler.end_headers()
        try:
            for _ in range(100):
                handler.wfile.write(b"x")
                handler.wfile.flush()
                time.sleep(0.2)
        except OSError:
            pass
        return True

    server.spoil = drip
    begun = time.monotonic()
    fatctx("fetch", server.url, "--all", "-o", "out.fatctx", "--timeout", "1", "--retries", "0", exits=5)
    assert time.monotonic() - begun < 30


def test_a_server_without_ranges_sends_the_whole_file(fatctx, server, tmp_path):
    server.spoil = lambda handler, wanted, data: handler.answer(200, data, None) is None
    refused = fatctx("fetch", server.url, "--device", "aarch64", "-o", "out.fatctx", "--require-ranges", exits=3)
    assert "does not send ranges" in refused.stderr
    assert "--max-size" in fatctx("fetch", server.url, "--all", "-o", "out.fatctx", "--max-size", "1MiB", exits=3).stderr
    run = fatctx("fetch", server.url, "--device", "aarch64", "-o", "out.fatctx")
    assert "fetching the whole file" in run.stderr
    fatctx("verify", "out.fatctx", exits=6)
    assert [name for name in os.listdir(tmp_path) if name.startswith("out.fatctx")] == ["out.fatctx"]


def test_credentials_stay_with_their_host(fatctx, server, container, serve, tmp_path):
    other = serve(container)
    def elsewhere(handler, wanted, data):
        handler.answer(302, b"", None, [("Location", other.url.replace("127.0.0.1", "localhost"))])
        return True

    server.spoil = elsewhere
    for words, header in (("user:secret", "Basic"), ("Bearer token", "Bearer token")):
        (tmp_path / "auth").write_text(words + "\n")
        server.requests.clear()
        other.requests.clear()
        fatctx("fetch", server.url, "--all", "-o", "out.fatctx", "--force", "--auth-file", "auth")
        assert all(request["Authorization"].startswith(header) for request in server.requests)
        assert other.requests and not any("Authorization" in request for request in other.requests)
    (tmp_path / "auth").write_text("nonsense\n")
    assert "user:password" in fatctx("fetch", server.url, "--all", "-o", "x.fatctx", "--auth-file", "auth", exits=2).stderr
    with_secret = server.url.replace("://", "://user:secret@")
    refused = fatctx("fetch", with_secret, "--all", "-o", "x.fatctx", exits=2).stderr
    assert "--auth-file" in refused


def test_a_signature_decides_what_is_taken(fatctx, server, container, tmp_path):
    fatctx("keygen", "-o", "vendor")
    fatctx("keygen", "-o", "other")
    fatctx("sign", "model.fatctx", "--key", "vendor.key", "-o", "signed.fatctx")
    server.path = tmp_path / "signed.fatctx"
    fatctx("fetch", server.url, "--device", "x86-64-v3", "-o", "out.fatctx", "--key", "vendor.pub")
    fatctx("info", "out.fatctx", "--key", "vendor.pub")
    fatctx("fetch", server.url, "--device", "x86-64-v3", "-o", "x.fatctx", "--key", "other.pub", exits=3)
    fatctx("fetch", server.url, "--device", "x86-64-v3", "-o", "x.fatctx", "--key", "vendor.pub", "--min-generation", "99", exits=3)
    assert not (tmp_path / "x.fatctx").exists() and not (tmp_path / "x.fatctx.fetching").exists()


def test_an_update_costs_what_changed(fatctx, server, container, tmp_path):
    shutil.copy(container, tmp_path / "old.fatctx")
    weights = bytearray((tmp_path / "weights.bin").read_bytes())
    for at in range(8):
        weights[at * 400_000:at * 400_000 + 1000] = os.urandom(1000)
    (tmp_path / "weights.bin").write_bytes(weights)
    (tmp_path / "aarch64.bin").write_bytes(os.urandom(300_000))
    arguments = [word for arch in ("x86-64-v2", "x86-64-v3", "x86-64-v4", "aarch64") for word in ("--binary", f"{arch}.bin@cpu:{arch}")]
    fatctx("pack", "-o", "model.fatctx", "--force", "--name", "m", "--weights", "weights.bin", *arguments)
    fatctx("fetch", server.url, "--all", "-o", "new.fatctx", "--from", "old.fatctx")
    changed = 8 * 2 * LEAF + 300_000 + 2 * LEAF
    assert server.sent <= changed * 1.1 + 256 * 1024
    assert (tmp_path / "new.fatctx").read_bytes() == container.read_bytes()


def test_no_server_is_an_error_of_the_network(fatctx):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    run = fatctx("fetch", f"http://127.0.0.1:{port}/m.fatctx", "--all", "-o", "out.fatctx", "--retries", "0", exits=5)
    assert str(port) in run.stderr
