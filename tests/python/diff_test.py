"""The comparison of two containers."""

import json

import pytest

import fatctx
from small_container import pattern, small_records


def other(path, change):
    records = small_records()
    fatctx.pack(path, change(records) or records, model_name="small")
    return path


def test_a_container_and_itself_are_the_same(small):
    report = fatctx.diff(small, fatctx.open(small))
    assert report.same and report.records == [] and report.description == [] and report.same_records >= 5
    assert report.before.uuid == report.after.uuid and report.before.record_bytes == report.before.record_bytes_in_both
    assert json.loads(report.to_json())["schema"] == "fatctx.diff/1"


def test_records_that_came_went_and_changed_are_named(small, tmp_path):
    def change(records):
        kept = [record for record in records if record.name != "net.x86-64-v2"]
        added = fatctx.PackRecord("context_binary", "net.riscv64", pattern(9_000, 9), group="net", unit="main",
                                  backend="cpu", arch="riscv64", weights=["net.weights"])
        changed = fatctx.PackRecord("opaque", "note", b"new")
        return [*kept, added, changed]

    before = tmp_path / "before.fatctx"
    fatctx.pack(before, [*small_records(), fatctx.PackRecord("opaque", "note", b"old")], model_name="small")
    report = fatctx.diff(before, other(tmp_path / "after.fatctx", change))
    said = {(one.change, one.before.name or one.after.name): one for one in report.records}
    assert set(said) == {("removed", "net.x86-64-v2"), ("added", "net.riscv64"), ("changed", "note")}
    added = said["added", "net.riscv64"]
    assert added.type == "context_binary" and added.before.id == 0 and added.after.target == "cpu riscv64"
    assert added.after.size_bytes == 9_000 and added.after.weights == ["net.weights"]
    assert not report.same and "3 differ" in repr(report)


def test_tensors_of_changed_weights_are_named_and_progress_counts_their_bytes(small, tmp_path):
    container = fatctx.open(small)
    tensors = [fatctx.PackTensor(one.name, one.dtype, one.shape, one.offset_in_blob, one.nbytes)
               for one in container.tensors("net.weights").values()]

    def change(records):
        data = bytearray(container.read("net.weights"))
        data[container.tensors("net.weights")["f32"].offset_in_blob] ^= 1
        records[0] = fatctx.PackRecord("weight_blob", "net.weights", bytes(data), group="net", tensors=tensors,
                                       format="raw", options={"iree.parameter_scope": "net"})

    after, steps = other(tmp_path / "after.fatctx", change), []
    report = fatctx.diff(small, after, progress=lambda done, total: steps.append((done, total)))
    (weights,) = [one for one in report.records if one.after.name == "net.weights"]
    assert [(tensor.change, tensor.name) for tensor in weights.tensors] == [("changed", "f32")]
    assert weights.tensors[0].type_before == "float32[2,3]" and weights.same_tensors == len(tensors) - 1
    assert steps and steps[-1][0] == steps[-1][1]
    with pytest.raises(ZeroDivisionError):
        fatctx.diff(small, after, progress=lambda done, total: 1 // 0)
