"""Requests for several ranges: servers that send them, that do not, and that lie about them."""

import json
import os
import pathlib
import random
import re
import subprocess
import time

import pytest
from multipart_answer import multipart
from nginx_server import nginx_in

LEAF = 65_536
ROOT = pathlib.Path(__file__).resolve().parents[3]
PROGRAM = pathlib.Path(os.environ.get("FATCTX_BUILD", ROOT / "build" / "release")) / "tools" / "fatctx"
PLACES = 70


@pytest.fixture(scope="module")
def packed(tmp_path_factory) -> pathlib.Path:
    """An old and a new container; every fourth leaf of the new one has a place that is new."""
    folder = tmp_path_factory.mktemp("packed")
    body = bytearray(random.Random(5).randbytes(4 * PLACES * LEAF))
    for name in ("old", "new"):
        (folder / "a.bin").write_bytes(body)
        subprocess.run([PROGRAM, "pack", "-o", f"{name}.fatctx", "--name", "m", "--binary", "a.bin@htp:SM8550"], cwd=folder, check=True,
                       capture_output=True)
        for place in range(PLACES):
            at = 4 * place * LEAF + 30_000
            body[at:at + 700] = random.Random(place).randbytes(700)
    (folder / "a.bin").unlink()
    return folder


@pytest.fixture
def versions(program, packed, tmp_path) -> pathlib.Path:
    for path in packed.iterdir():
        os.link(path, tmp_path / path.name)
    return tmp_path


@pytest.fixture
def server(versions, serve):
    """Serves the new container, and no update and no index of it."""
    server = serve(versions / "new.fatctx")

    def only_the_container(handler, wanted, data):
        if handler.path != "/model.fatctx":
            handler.send_error(404)
            return True
        return server.spoil_container(handler, wanted, data) if server.spoil_container else False

    server.spoil, server.spoil_container = only_the_container, None
    return server


def arguments(url: str, *more: str) -> tuple[str, ...]:
    return ("fetch", url, "--all", "--from", "old.fatctx", "-o", "got.fatctx", "--json", *more)


def is_new(folder: pathlib.Path) -> bool:
    return (folder / "got.fatctx").read_bytes() == (folder / "new.fatctx").read_bytes()


def of_container(server) -> list[dict]:
    return [request for request in server.requests if request["path"] == "/model.fatctx"]


def test_a_request_names_many_ranges(fatctx, server, versions):
    planned = json.loads(fatctx(*arguments(server.url, "--dry-run")).stdout)
    server.requests.clear()
    server.sent = 0
    said = json.loads(fatctx(*arguments(server.url)).stdout)
    assert is_new(versions)
    asked = [request.get("Range", "").count(",") + 1 for request in of_container(server)]
    assert sum(asked) >= PLACES and len(asked) <= 3 + PLACES * LEAF // (1 << 20) + 1, asked
    assert max(asked) <= 64 and max(len(request.get("Range", "")) for request in of_container(server)) < 4096
    assert said["requests"] == len(server.requests) == planned["requests"] + planned["more_requests"]
    assert said["fetched_bytes"] == planned["fetched_bytes"] + planned["more_bytes"]
    assert said["fetched_bytes"] <= server.sent


@pytest.mark.parametrize("several", ["one", "span", "whole", 416, 400, 403, 501])
def test_a_server_that_does_not_send_several_is_asked_for_each(fatctx, server, versions, several):
    server.several = several
    planned = json.loads(fatctx(*arguments(server.url, "--dry-run")).stdout)
    server.requests.clear()
    said = json.loads(fatctx(*arguments(server.url, "--require-ranges")).stdout)
    assert is_new(versions) and said["whole_file"] is False
    asked = [request.get("Range", "").count(",") + 1 for request in of_container(server)]
    assert sum(1 for ranges in asked if ranges > 1) == 1, "one request finds out"
    assert said["requests"] == len(server.requests) == planned["requests"] + planned["more_requests"] > PLACES
    assert said["fetched_bytes"] == planned["fetched_bytes"] + planned["more_bytes"] < (versions / "new.fatctx").stat().st_size / 2


def refused(folder: pathlib.Path, url: str) -> str:
    run = subprocess.run([PROGRAM, *arguments(url, "--retries", "1", "--force")], cwd=folder, capture_output=True, text=True, timeout=120,
                         check=False)
    assert run.returncode in (3, 5), run.stderr
    return run.stderr


def parts(data: bytes, ranges, **how) -> tuple[list, bytes]:
    kind, body = multipart(data, ranges, **how)
    return [("Content-Type", kind)], body


def lies(kind: str):
    """Returns what a lying server answers to a request for several ranges."""

    def spoil(handler, _wanted, data):
        ranges = handler.ranges
        if len(ranges) < 2:
            return False
        extra, body = parts(data, ranges)
        first, second = ranges[0], ranges[1]
        if kind == "another boundary":
            extra = [("Content-Type", "multipart/byteranges; boundary=other")]
        elif kind == "no boundary in the head":
            extra = [("Content-Type", "multipart/byteranges")]
        elif kind == "never a boundary":
            body = bytes(5_000_000)
        elif kind == "endless headers":
            body = b"--a boundary\r\n" + b"X: y\r\n" * 1_000_000
        elif kind == "endless line":
            body = b"--a boundary\r\nX: " + b"y" * 5_000_000
        elif kind == "shorter":
            body = body.replace(data[first[0]:first[1] + 1], data[first[0]:first[1] - 1])
        elif kind == "shorter by one":
            body = body.replace(data[first[0]:first[1] + 1], data[first[0]:first[1]])
        elif kind == "longer":
            body = body.replace(data[first[0]:first[1] + 1], data[first[0]:first[1] + 3])
        elif kind == "overlap":
            extra, body = parts(data, [first, (first[1], first[1]), second])
        elif kind == "twice":
            extra, body = parts(data, [first, second, first])
        elif kind == "outside":
            extra, body = parts(data, [first, (second[0] - 9, second[1])])
        elif kind == "not asked":
            extra, body = parts(data, [(first[0] + 2 * LEAF, first[1] + 2 * LEAF)])
        elif kind == "tiny parts":
            extra, body = parts(data, [(first[0] + i, first[0] + i) for i in range(10_000)])
        elif kind == "other size":
            extra, body = parts(data, ranges, size=len(data) + 1)
        elif kind == "compressed":
            extra += [("Content-Encoding", "gzip")]
        elif kind == "compressed part":
            body = body.replace(b"Content-Type: a/b", b"Content-Encoding: br")
        elif kind == "nested":
            body = body.replace(b"Content-Type: a/b", b"Content-Type: multipart/byteranges; boundary=c")
        elif kind == "no part":
            body = b"--a boundary--\r\n"
        elif kind == "damaged":
            _, body = parts(bytes(data.translate(bytes(byte ^ 1 for byte in range(256)))), ranges)
        elif kind == "other file":
            handler.send_response(206)
            handler.send_header("ETag", '"2"')
            handler.send_header("Content-Type", extra[0][1])
            handler.send_header("Content-Length", str(len(body)))
            handler.end_headers()
            handler.wfile.write(body)
            return True
        handler.answer(206, body, None, extra)
        return True

    return spoil


LIES = {"another boundary": "no boundary is in", "no boundary in the head": "cannot be understood", "never a boundary": "a line has more",
        "endless headers": "headers of a part have more", "endless line": "a line has more", "shorter": "more bytes than its Content-Range",
        "shorter by one": "damaged", "longer": "more bytes than its Content-Range", "overlap": "bytes twice", "twice": "bytes twice", "outside": "other bytes than asked",
        "not asked": "other bytes than asked", "tiny parts": "parts for", "other size": "replaced on the server", "compressed": "encodes",
        "compressed part": "encodes", "nested": "parts itself", "no part": "has no part", "damaged": "damaged", "other file": "replaced"}


@pytest.mark.parametrize("kind", LIES)
def test_a_server_that_lies_about_several_ranges_publishes_nothing(server, versions, kind):
    (versions / "got.fatctx").write_bytes(b"an old file")
    server.spoil_container = lies(kind)
    begun = time.monotonic()
    stderr = refused(versions, server.url)
    assert LIES[kind] in stderr and server.url in stderr, stderr
    assert (versions / "got.fatctx").read_bytes() == b"an old file"
    assert len(server.requests) < 20 and time.monotonic() - begun < 60


def test_an_answer_without_its_last_boundary_is_asked_for_again(fatctx, server, versions):
    def cut(handler, _wanted, data):
        if len(handler.ranges) < 2 or len(of_container(server)) % 2:
            return False
        extra, body = parts(data, handler.ranges)
        handler.answer(206, body[:body.rindex(b"Content-Type")], None, extra)
        return True

    server.spoil_container = cut
    fatctx(*arguments(server.url))
    assert is_new(versions)


def test_a_server_that_only_begins_answers_is_given_up(server, versions):
    def begin(handler, _wanted, data):
        if len(handler.ranges) < 2:
            return False
        extra, body = parts(data, handler.ranges)
        handler.answer(206, body[:20], None, extra)
        return True

    server.spoil_container = begin
    assert "brought nothing" in refused(versions, server.url)
    assert len(server.requests) < 40


def test_what_a_server_leaves_out_or_joins_or_turns_comes_all_the_same(fatctx, server, versions):
    def otherwise(handler, _wanted, data):
        if len(handler.ranges) < 2:
            return False
        extra, body = parts(data, handler.ranges[:3:-1] + [(handler.ranges[0][0], handler.ranges[0][0] + 5)])
        handler.answer(206, body, None, extra)
        return True

    server.spoil_container = otherwise
    said = json.loads(fatctx(*arguments(server.url)).stdout)
    assert is_new(versions)
    assert said["requests"] == len(server.requests) > PLACES / 8


def log_of(path: pathlib.Path) -> list[tuple[int, int, str]]:
    lines = [re.fullmatch(r"(\d+) (\d+) (.*)", line) for line in path.read_text().splitlines()]
    return [(int(line[1]), int(line[2]), line[3]) for line in lines]


@pytest.mark.parametrize("words, several", [("", True), ("max_ranges 1;", False), ("max_ranges 5;", False), ("etag off;", True)])
def test_nginx(fatctx, versions, words, several):
    versions.chmod(0o755)
    with nginx_in(versions, words) as (url, log):
        planned = json.loads(fatctx(*arguments(f"{url}/new.fatctx", "--dry-run")).stdout)
        log.write_text("")
        said = json.loads(fatctx(*arguments(f"{url}/new.fatctx", "--require-ranges")).stdout)
        assert is_new(versions)
        requests = [line for line in log_of(log) if line[0] in (200, 206)]
    if "5" in words:  # how requests are divided anew depends on what came before
        assert said["requests"] < PLACES
    else:
        assert said["requests"] == planned["requests"] + planned["more_requests"]
        assert (said["requests"] < 25) == several
    assert sum(1 for status, _, _ in requests if status == 200) == (0 if several else 1)


def test_debians_registry(fatctx, registry, versions):
    reference = f"oci://{registry}/m:2"
    for layers in ("one", "parts"):
        fatctx("push", "new.fatctx", reference, "--layers", layers)
        planned = json.loads(fatctx(*arguments(reference, "--dry-run", "--force")).stdout)
        said = json.loads(fatctx(*arguments(reference, "--force")).stdout)
        assert is_new(versions)
        assert said["requests"] == planned["requests"] + planned["more_requests"] < 40
