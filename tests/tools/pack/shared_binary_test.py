"""A context binary with several graphs that share tensors is one record, stored once. Shows S3.61."""

import json
import os

import onnx
from onnx import TensorProto, helper

SIZE = 1 << 20


def save(folder, name: str, graphs) -> str:
    """Writes a context model whose nodes name one binary."""
    nodes, values = [], ([], [])
    for number, graph in enumerate(graphs):
        wide = [1, 3 + number]
        nodes.append(helper.make_node("EPContext", [f"x{number}"], [f"y{number}"], graph, domain="com.microsoft",
                                      main_context=int(number == 0), embed_mode=0, partition_name=graph, source="QNN",
                                      ep_cache_context="shared.bin"))
        for tensors, letter in zip(values, "xy"):
            tensors.append(helper.make_tensor_value_info(f"{letter}{number}", TensorProto.FLOAT, wide))
    model = helper.make_model(helper.make_graph(nodes, "g", *values), ir_version=9,
                              opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)])
    onnx.save(model, str(folder / name))
    return name


def test_graphs_of_one_binary_are_listed_in_its_record_and_its_tensors_are_stored_once(fatctx, tmp_path):
    (tmp_path / "shared.bin").write_bytes(os.urandom(SIZE))
    first = save(tmp_path, "first_ctx.onnx", ["prefill", "verify"])
    second = save(tmp_path, "second_ctx.onnx", ["decode"])
    fatctx("pack", "-o", "m.fatctx", "--name", "m", "--ep-context", first, "--ep-context", second)

    info = json.loads(fatctx("info", "m.fatctx", "--records", "--graphs", "--json").stdout)
    record, = [one for one in info["records"] if one["type"] == "context_binary"]
    assert record["size_bytes"] == SIZE and (tmp_path / "m.fatctx").stat().st_size < 1.5 * SIZE
    shown = fatctx("info", "m.fatctx", "--graphs").stdout
    assert [line.strip() for line in shown.splitlines() if line.startswith("  ") and not line.startswith("   ")] == [
        "prefill", "verify", "decode"]

    for graph in ("prefill", "decode"):
        fatctx("wrap", "m.fatctx", record["name"], "--graph", graph, "-o", f"{graph}_ctx.onnx", "--binary", "again.bin", "--force")
        node, = onnx.load(str(tmp_path / f"{graph}_ctx.onnx")).graph.node
        said = {one.name: helper.get_attribute_value(one) for one in node.attribute}
        assert said["partition_name"] == graph.encode() and said["ep_cache_context"] == b"again.bin"
    assert (tmp_path / "again.bin").read_bytes() == (tmp_path / "shared.bin").read_bytes()
