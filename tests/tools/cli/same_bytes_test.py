"""A container has the same bytes on every host, at every time, in every place and with any number of threads. It
contains no path of a host.

The golden files are the comparison between hosts (tests/container/read/golden_test.cc): every host's tests write
them anew.
"""

from __future__ import annotations

import hashlib
import json
import os
import pathlib

# The hash on every host. liblz4 versions may find different matches, so nothing in the file is compressed.
SHA256 = "692a904ef18aad355b0459d2cb4a60c2770b9e97482af4bd3d78f435cce1ef9e"


def write_inputs(folder: pathlib.Path) -> None:
    folder.mkdir(parents=True)
    common = bytes(i * i % 251 for i in range(200_000))
    for number, name in enumerate(("first", "second")):
        (folder / f"{name}.bin").write_bytes(bytes([number]) * 4096 + common)
    (folder / "weights.bin").write_bytes(common[::-1])
    records = [{"type": "weight_blob", "name": "weights", "file": "weights.bin", "group": "net"}]
    records += [{"type": "context_binary", "name": name, "file": f"{name}.bin", "weights": ["weights"], "group": "net", "unit": "main",
                 "target": {"backend": "cpu", "arch": arch}} for name, arch in (("first", "x86-64-v2"), ("second", "aarch64"))]
    (folder / "net.json").write_text(json.dumps({"schema": "fatctx.manifest/1", "name": "net", "sharing": "bytes", "records": records}))


# Shows S2.9.
def test_a_container_is_the_same_on_every_host_and_knows_none(fatctx, tmp_path):
    here, there = tmp_path / "here", tmp_path / "a folder of another host" / "there"
    write_inputs(here)
    write_inputs(there)
    for file in there.iterdir():
        os.utime(file, (1, 1))

    fatctx("pack", "net.json", "-o", "net.fatctx", "--threads", "1", cwd=here, umask=0o022,
           env={**os.environ, "TZ": "UTC", "LC_ALL": "C", "USER": "somebody"})
    fatctx("pack", there.relative_to(tmp_path) / "net.json", "-o", there / "net.fatctx", "--threads", "2", umask=0o077,
           env={**os.environ, "TZ": "Asia/Tokyo", "LC_ALL": "tr_TR.UTF-8", "USER": "else", "HOSTNAME": "other"})

    one = (here / "net.fatctx").read_bytes()
    assert one == (there / "net.fatctx").read_bytes()
    assert hashlib.sha256(one).hexdigest() == SHA256
    for name in (tmp_path.name, "a folder of another host", "somebody", ".bin", ".json"):
        assert name.encode() not in one
