"""The reference reader's output for the golden files equals their texts."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))  # the modules next to this file, with every import mode of pytest

import fatctx_reference as reference  # noqa: E402

GOLDEN = Path(__file__).resolve().parents[1] / "golden"


def word(value) -> str:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, (bool, str)) else str(value)


def version(numbers: list[int] | None) -> str:
    numbers = list(numbers or [0, 0, 0, 0])
    while len(numbers) > 2 and numbers[-1] == 0:
        numbers.pop()
    return ".".join(map(str, numbers))


def options(of: list[dict]) -> list[str]:
    return [f'  option {one["key"]} = {word(one["value"])} of {word(one["owner"])}' for one in of]


def as_text(container: reference.Container) -> str:
    said, described = reference.dump(container), reference.description_of(container)
    facts = ("uuid", "generation", "slot", "sealed", "file_size", "committed_end", "tail_bytes", "toc_hash")
    lines = [f"{name} {str(said[name]).lower() if name == 'sealed' else said[name]}" for name in facts]
    for record in said["records"]:
        lines.append(f"record {record['id']} {record['type']} {word(record['name'])} " + " ".join(
            f"{name} {word(record[name]) if name != 'hash' else record[name]}"
            for name in ("size", "stored", "slices", "offset", "must_map", "hash")))
        lines += [f"  codec {record['codec']}"] if record["codec"] != "none" else []
        key = {**record["key"], "features": ",".join(record["key"]["features"])}
        key |= {name: version(key[name]) for name in ("sdk", "api", "blob")}
        lines.append("  key " + " ".join(
            f"{name} {key[name] if name in ('sdk', 'api', 'blob') else word(key[name])}"
            for name in ("group", "unit", "backend", "soc", "part", "arch", "features", "vtcm", "sdk", "variant", "api",
                         "blob", "generic")))
        lines += [f"  weights {' '.join(map(str, record['weights']))}"] if record["weights"] else []
        lines += [f"  tensor {word(one['name'])} {one['dtype']} {one['shape']} offset {one['offset']} "
                  f"size {one['size']} alias {word(one['alias'])}" for one in record["tensors"] or []]
    lines.append(f"model {word(described['name'])} by {described['writer']}")
    lines += options(described["options"])
    for one in described["records"]:
        lines.append(f"described {one['record_id']} producer {word(one['producer'])} format {word(one['format'])}")
        lines += options(one["options"])
        for graph in one["graphs"]:
            lines.append(f"  graph {word(graph['name'])}")
            lines += [f"    {way} {word(tensor['name'])} {tensor['dtype']} {tensor['shape']}"
                      for way, tensors in (("in", graph["inputs"]), ("out", graph["outputs"])) for tensor in tensors]
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("path", [path for path in sorted(GOLDEN.glob("*/*.fatctx")) if path.stem != "incompat"],
                         ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_a_golden_file_says_what_its_text_says(path):
    container = reference.read(path.read_bytes())

    assert as_text(container) == path.with_suffix(".txt").read_text(encoding="utf-8")
    for record in container.tables.records:
        if said_only(record):
            continue
        bytes_of = reference.read_record if record.codec else reference.acquire
        assert len(bytes_of(container, record)) == record.logical_size, record.text


def said_only(record) -> bool:
    """Returns whether this version lists the record and hands nothing out."""
    return not 1 <= record.type <= 7


def test_a_golden_file_that_needs_a_newer_reader_is_refused():
    with pytest.raises(reference.Refused) as refused:
        reference.read((GOLDEN / "v1.7" / "incompat.fatctx").read_bytes())

    assert (refused.value.code, refused.value.rule) == ("unsupported", "F3")


@pytest.mark.parametrize("version", ["v1"])
def test_there_are_golden_files(version):
    assert len(list((GOLDEN / version).glob("*.fatctx"))) >= 6
