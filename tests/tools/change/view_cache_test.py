"""`fatctx materialize`: bytes that were built for views are found again by their content. Shows S2.30."""

import json
import os

import pytest

SIZE = 600_000


@pytest.fixture()
def chips(fatctx, tmp_path):
    """Returns chips(name, changed), which packs two binaries, of which one is composed; `changed` is the last byte."""
    common = os.urandom(SIZE)

    def make(name: str, changed: bytes = b"\0") -> str:
        content = common + changed
        (tmp_path / "a.bin").write_bytes(content)
        (tmp_path / "b.bin").write_bytes(b"b" * 300 + content)  # the same bytes, moved by less than a page
        fatctx("pack", "-o", f"{name}.fatctx", "--name", name, "--sharing", "bytes", "--binary", "a.bin@htp:v73,name=a",
               "--binary", "b.bin@htp:v75,name=b")
        return f"{name}.fatctx"

    (tmp_path / "views").mkdir(mode=0o700)
    return make


def rows(fatctx, container: str) -> list[list[str]]:
    """Returns the record and the outcome of each line of the table."""
    lines = fatctx("materialize", container, "--cache", "views").stdout.splitlines()
    return [[line.split()[0], " ".join(line.split()[-2:])] for line in lines[1:lines.index("")]]


def test_the_second_time_is_a_hit_also_from_another_container_with_the_same_record(fatctx, chips, tmp_path):
    first, other = chips("first"), chips("other")
    assert (tmp_path / first).read_bytes() != (tmp_path / other).read_bytes()
    [[record, outcome]] = rows(fatctx, first)
    assert outcome.endswith("made")
    held = {path.name: path.stat().st_ino for path in (tmp_path / "views").iterdir()}
    for container in (first, other):
        assert rows(fatctx, container) == [[record, "was there"]]
    assert {path.name: path.stat().st_ino for path in (tmp_path / "views").iterdir()} == held


def test_another_content_under_the_same_names_is_a_miss(fatctx, chips, tmp_path):
    rows(fatctx, chips("first"))
    held = {path.name for path in (tmp_path / "views").iterdir()}
    [[_, outcome]] = rows(fatctx, chips("changed", changed=b"\1"))
    assert outcome.endswith("made")
    assert len({path.name for path in (tmp_path / "views").iterdir()} - held) == 1


def test_json_tells_hits_and_misses(fatctx, chips):
    container = chips("first")
    found = [json.loads(fatctx("materialize", container, "--cache", "views", "--json").stdout)["records"] for _ in range(2)]
    assert [[record["made"] for record in records if record["cached_bytes"]] for records in found] == [[True], [False]]
