"""Mistakes that a command must not make: take an empty value for none, overwrite its input, wait for a pipe, accept
a typo."""

import os
import pathlib

import pytest


@pytest.fixture()
def files(fatctx, tmp_path):
    """Returns model.fatctx with a weight blob, head.onnx with external data, and a key pair."""
    (tmp_path / "a.bin").write_bytes(bytes(1000))
    fatctx("pack", "-o", "model.fatctx", "--name", "m", "--binary", "a.bin@cpu:x86-64-v3", "--weights", "a.bin")
    fatctx("keygen", "-o", "release")
    onnx = pytest.importorskip("onnx", reason="onnx is not installed (pip install onnx)")
    import numpy as np
    from onnx import helper, numpy_helper

    graph = helper.make_graph([helper.make_node("MatMul", ["x", "w"], ["y"])], "g",
                              [helper.make_tensor_value_info("x", 1, [1, 64])], [helper.make_tensor_value_info("y", 1, [1, 64])],
                              [numpy_helper.from_array(np.ones((64, 64), np.float32), "w")])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), str(tmp_path / "head.onnx"),
              save_as_external_data=True, location="head.data", size_threshold=0)
    fatctx("pack", "-o", "ext.fatctx", "--name", "m", "--weights", "head.onnx")
    return tmp_path


def state(folder: pathlib.Path) -> dict:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


@pytest.mark.parametrize("arguments, option", [
    (["remove", "model.fatctx", "a", "-o", ""], "-o"),
    (["strip", "model.fatctx", "--keep", "cpu:x86-64-v3", "--output="], "--output"),
    (["seal", "model.fatctx", "-o", ""], "-o"),
    (["sign", "model.fatctx", "--key", "release.key", "-o", ""], "-o"),
    (["compact", "model.fatctx", "-o", ""], "-o"),
    (["verify", "model.fatctx", "--onnx", ""], "--onnx"),
    (["select", "model.fatctx", "--device", ""], "--device"),
    (["select", "model.fatctx", "--require_coverage", ""], "--require-coverage"),
    (["info", "model.fatctx", "--tensors="], "--tensors"),
    (["keygen", "-o", ""], "-o"),
])
def test_an_empty_value_is_no_value(fatctx, files, arguments, option):
    """An empty value as from `"$OUT"` when OUT is not set."""
    before = state(files)
    done = fatctx(*arguments, exits=2)
    assert done.stderr.startswith(f"fatctx: {option}: the value is empty"), done.stderr
    assert state(files) == before and done.stdout == ""


@pytest.mark.parametrize("arguments, what", [
    (["export", "ext.fatctx", "--onnx", "head.onnx", "-o", "ext.fatctx"], "container"),
    (["extract", "model.fatctx", "a", "-o", "model.fatctx"], "container"),
    (["extract", "model.fatctx", "a", "-o", "link.fatctx"], "container"),
    (["sign", "model.fatctx", "--key", "release.key", "-o", "release.key"], "key"),
    (["pack", "-o", "a.bin", "--name", "m", "--binary", "a.bin@cpu:x86-64-v3"], 'source of record "m.x86-64-v3"'),
    (["pack", "-o", "head.data", "--name", "m", "--weights", "head.onnx"], "source of record"),
    (["compile", "head.onnx", "--target", "x86-64-v3", "--command", "/bin/cp {model} {output}", "-o", "head.onnx"], "model"),
])
def test_force_does_not_write_over_what_is_read(fatctx, files, arguments, what):
    (files / "link.fatctx").symlink_to("model.fatctx")
    before = state(files)
    done = fatctx(*arguments, "--force", exits=2)
    assert f"is the {what}" in done.stderr and "write to another file" in done.stderr, done.stderr
    assert state(files) == before


def test_export_leaves_the_neighbours_alone(fatctx, files):
    (files / "small.onnx.part").write_text("mine")
    (files / "victim.txt").write_text("mine, too")
    (files / "second.onnx.part").symlink_to("victim.txt")
    for name in ("small.onnx", "second.onnx"):
        fatctx("export", "ext.fatctx", "--onnx", "head.onnx", "-o", name)
        assert (files / name).is_file() and not (files / name).is_symlink()
    assert (files / "small.onnx.part").read_text() == "mine" and (files / "victim.txt").read_text() == "mine, too"
    (files / "folder").mkdir()
    before = state(files)
    fatctx("export", "ext.fatctx", "--onnx", "head.onnx", "-o", "folder", "--force", exits=2)
    assert state(files) == before


COMPILE = ["compile", "INPUT", "--target", "x86-64-v3", "--command", "/bin/cp {model} {output}", "-o", "out.fatctx"]
READERS = [
    ["pack", "-o", "out.fatctx", "--name", "m", "--binary", "INPUT@cpu:x86-64-v3"],
    ["pack", "-o", "out.fatctx", "--name", "m", "--weights", "INPUT"],
    ["select", "model.fatctx", "--device-file", "INPUT"],
    ["select", "model.fatctx", "--require-coverage", "@INPUT"],
]


@pytest.mark.parametrize("arguments, kind", [
    *[(reader, kind) for reader in READERS for kind in ("pipe", "/dev/zero", ".")],
    (COMPILE, "pipe"), (COMPILE, "/dev/zero"),  # a model may be a folder
])
def test_what_is_no_file_is_refused_at_once(fatctx, files, arguments, kind):
    os.mkfifo(files / "pipe")
    before = state(files)
    done = fatctx(*[word.replace("INPUT", kind) for word in arguments], exits=2, timeout=30)
    assert "not_regular_file" in done.stderr, done.stderr
    assert state(files) == before


@pytest.mark.parametrize("arguments", [
    ["cache", "gc", "views", "--limit", "-1"],
    ["materialize", "model.fatctx", "--cache", "views", "--limit", "-1"],
    ["info", "model.fatctx", "--min-generation", "-1"],
    ["bench", "load", "model.fatctx", "--max-copied-bytes", "-1"],
])
def test_numbers_below_nothing_are_not_the_largest(fatctx, files, arguments):
    (files / "views").mkdir(mode=0o700)
    assert "-1 is below 0" in fatctx(*arguments, exits=2).stderr


@pytest.mark.parametrize("arguments", [["device", "--vtcm-mb", "0"], ["select", "model.fatctx", "--vtcm-mb", "-1"],
                                       ["wrap", "model.fatctx", "-o", "m_ctx.onnx", "--max-size", "0"]])
def test_errors_of_numbers_can_be_read(fatctx, files, arguments):
    assert len(fatctx(*arguments, exits=2).stderr) < 250


def test_a_root_that_is_not_there_is_no_machine(fatctx):
    assert "nowhere" in fatctx("device", "--root", "nowhere", exits=2).stderr


@pytest.mark.parametrize("arguments", [["--", "info", "model.fatctx"], ["--"]])
def test_behind_two_dashes_nothing_is_a_command(fatctx, arguments):
    done = fatctx(*arguments, exits=2)
    assert "a command is missing" in done.stderr and done.stdout == ""


def test_the_picture_of_a_measurement_replaces_nothing(fatctx, files):
    done = fatctx("bench", "load", "head.onnx", "--sessions", "1", "--repeat", "1", "--svg", "head.onnx", exits=2)
    assert "head.onnx already exists; name another file" in done.stderr
    done = fatctx("bench", "load", "head.onnx", "--sessions", "1,2", exits=2)
    assert done.stderr.startswith("fatctx bench: --sessions"), done.stderr
