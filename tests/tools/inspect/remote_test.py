"""`fatctx info URL` and `fatctx select URL`: the metadata of a container on a server, in a few requests."""

import json
import os
import pathlib
import subprocess

import pytest

KIB = 1024
FIRST = 64 * KIB


def pack(fatctx, folder: pathlib.Path, records: int, payload: int) -> pathlib.Path:
    """Binaries of so many targets, and weights with tensors."""
    tensors = {f"layer.{i}": {"dtype": "F16", "shape": [16], "data_offsets": [i * 32, i * 32 + 32]} for i in range(100)}
    header = json.dumps(tensors).encode()
    (folder / "weights.safetensors").write_bytes(len(header).to_bytes(8, "little") + header + os.urandom(3200))
    (folder / "code.bin").write_bytes(os.urandom(payload))
    rows = [{"type": "weight_blob", "name": "weights", "file": "weights.safetensors", "format": "safetensors", "tensors": {"format": "safetensors"}}]
    archs = ["x86-64-v2", "x86-64-v3", "x86-64-v4", "aarch64"]
    rows += [{"type": "context_binary", "name": f"binary {i} of a model with a long name", "file": "code.bin", "format": "iree-vmfb",
              "target": {"backend": "cpu", "arch": archs[i % 4], "variant": f"v{i}"}, "weights": ["weights"],
              "graphs": [{"name": "main", "inputs": [{"name": "x", "dtype": "float32", "shape": [1]}], "outputs": []}]} for i in range(records)]
    (folder / "manifest.json").write_text(json.dumps({"schema": "fatctx.manifest/1", "name": "far", "records": rows}))
    fatctx("pack", "manifest.json", "-o", "far.fatctx")
    return folder / "far.fatctx"


@pytest.fixture(params=[(4, 5_000_000), (2000, 40_000)], ids=["four records", "2,000 records"])
def far(request, fatctx, serve, tmp_path):
    return serve(pack(fatctx, tmp_path, *request.param))


def table_bytes(fatctx) -> int:
    extents = json.loads(fatctx("info", "far.fatctx", "--extents", "--json").stdout)["extents"]["extents"]
    return sum(extent["size"] for extent in extents if extent["kind"] == "toc copy 0")


def test_info_and_select_say_the_same_as_of_a_file_in_three_requests(fatctx, far, tmp_path):
    table = table_bytes(fatctx)
    for command in (["info"], ["info", "--records"], ["info", "--graphs"], ["info", "--extents"], ["info", "--for", "x86-64-v3"], ["info", "--csv"],
                    ["select", "--device", "x86-64-v3"], ["select", "--all-devices"]):
        far.requests.clear()
        far.sent = 0
        there = fatctx(command[0], far.url, *command[1:]).stdout
        here = fatctx(command[0], "far.fatctx", *command[1:]).stdout
        assert there.replace("payload: fatctx fetch", "payload: fatctx verify").replace(far.url, "far.fatctx").split() == here.split(), command
        assert len(far.requests) <= 3, command
        assert far.sent <= 2 * FIRST + table * 3 // 2 + 16 * KIB
    for command in (["info", "--graphs"], ["select", "--device", "aarch64"]):
        there = json.loads(fatctx(command[0], far.url, *command[1:], "--json").stdout)
        here = json.loads(fatctx(command[0], "far.fatctx", *command[1:], "--json").stdout)
        for one in (there, here):
            for own in ("file", "filesystem", "remote_filesystem"):
                one.pop(own, None)
        assert there == here
    assert not [name for name in os.listdir(tmp_path) if "fetching" in name]


def test_tensors_come_without_their_weights(fatctx, far):
    assert fatctx("info", far.url, "--tensors", "weights").stdout == fatctx("info", "far.fatctx", "--tensors", "weights").stdout
    assert "no record" in fatctx("info", far.url, "--tensors", "weight", exits=2).stderr


def test_views_that_read_payload_are_refused_with_the_remedy(fatctx, far):
    far.requests.clear()
    for view in (["--sharing"], ["--stats", "--tensors", "weights"], ["--ops"], ["--summary"], ["--present"]):
        refused = fatctx("info", far.url, *view, exits=2).stderr
        assert f"fatctx fetch {far.url}" in refused
    assert f"fatctx fetch {far.url}" in fatctx("select", far.url, "--on-damage", "next", exits=2).stderr
    assert "newest generation" in fatctx("info", far.url, "--generation", "1", exits=2).stderr
    assert far.requests == []


def damage(server, *ranges):
    """Serves these ranges with flipped bits."""

    def spoil(handler, wanted, data):
        first, last = wanted
        body = bytearray(data[first:last + 1])
        for begin, end in ranges:
            for at in range(max(begin, first), min(end, last + 1)):
                body[at - first] ^= 0x55
        handler.answer(206, bytes(body), f"bytes {first}-{last}/{len(data)}")
        return True

    server.spoil = spoil


def test_a_damaged_table_has_a_second_copy_and_is_never_shown(fatctx, far):
    extents = json.loads(fatctx("info", "far.fatctx", "--extents", "--json").stdout)["extents"]["extents"]
    copies = [(extent["offset"], extent["offset"] + extent["size"]) for extent in extents if extent["kind"].startswith("toc copy")]
    first, second = ((begin + 8, begin + 40) for begin, _ in copies)
    damage(far, first)
    far.requests.clear()
    assert "damaged, see below" in fatctx("info", far.url).stdout
    assert len(far.requests) <= 4
    damage(far, second)
    assert "header and tables whole" in fatctx("info", far.url).stdout  # it is not read
    damage(far, first, second)
    refused = fatctx("info", far.url, exits=3)
    assert far.url in refused.stderr and "damaged" in refused.stderr and refused.stdout == ""


def test_other_files_and_servers_are_refused(fatctx, serve, tmp_path):
    (tmp_path / "page.html").write_text("<html>no container</html>" * 9)
    page = serve(tmp_path / "page.html")
    refused = fatctx("info", page.url, exits=3).stderr
    assert page.url in refused and "not a fatctx container" in refused.lower().replace("no fatctx", "not a fatctx")
    pack(fatctx, tmp_path, 4, 400_000)
    plain = serve(tmp_path / "far.fatctx")
    plain.spoil = lambda handler, wanted, data: handler.answer(200, data, None) is None
    assert "ranges" in fatctx("info", plain.url, exits=3).stderr
    gone = serve(tmp_path / "far.fatctx")
    gone.spoil = lambda handler, wanted, data: handler.answer(404, b"", None) is None
    assert "404" in fatctx("select", gone.url, exits=2).stderr


def test_keys_hold_for_what_is_looked_at(fatctx, serve, tmp_path):
    pack(fatctx, tmp_path, 4, 400_000)
    fatctx("keygen", "-o", "release")
    fatctx("keygen", "-o", "other")
    unsigned = serve(tmp_path / "far.fatctx")
    assert "not signed" in fatctx("info", unsigned.url, "--key", "release.pub", exits=3).stderr
    fatctx("sign", "far.fatctx", "--key", "release.key", "-o", "signed.fatctx")
    signed = serve(tmp_path / "signed.fatctx")
    assert "verified" in fatctx("info", signed.url, "--key", "release.pub").stdout
    fatctx("info", signed.url, "--key", "other.pub", exits=3)
    fatctx("info", signed.url, "--min-generation", "9", exits=3)


def test_no_temporary_file_stays(program, fatctx, serve, tmp_path):
    far = serve(pack(fatctx, tmp_path, 4, 400_000))
    folder = tmp_path / "temporary"
    folder.mkdir()
    for arguments in (["info", far.url], ["info", far.url, "--tensors", "none"], ["select", far.url, "--device", "SM8650"]):
        subprocess.run([program, *arguments], cwd=tmp_path, env=os.environ | {"TMPDIR": str(folder)}, capture_output=True, check=False)
    assert os.listdir(folder) == []
