"""`fatctx compile --plan` and `--job`: the parts that any machines make, merged, are the file that one run makes."""

import hashlib
import json
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[3]
IREE = pathlib.Path(sys.executable).with_name("iree-compile")
# A compiler that takes a model of any form: what it writes has bytes of the model, as compiled weights are, and words of
# the target.
COMPILER = """#!/bin/sh
set -e
if [ -n "${FAIL_FOR:-}" ] && [ "$FAIL_FOR" = "$2" ]; then echo "no $2 today" >&2; exit 3; fi
{ printf 'compiled for %s\\n' "$2"; cat "$1"; } > "$3"
"""
TARGETS = ("htp:v73", "htp:v75", "cpu:x86-64-v3")


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture()
def work(tmp_path):
    """A folder with a model and a compiler of any form."""
    (tmp_path / "m.bin").write_bytes(random.Random(7).randbytes(300_000))
    (tmp_path / "cc.sh").write_text(COMPILER)
    (tmp_path / "cc.sh").chmod(0o755)
    return tmp_path


def run_of(work, targets=TARGETS):
    words = [word for target in targets for word in ("--target", target)]
    return ["compile", "m.bin", *words, "--command", f"{work}/cc.sh {{model}} {{arch}} {{output}}"]


def parts_of(fatctx, count, plan="jobs.json", *more):
    for job in range(count):
        fatctx("compile", "--job", f"{plan}#{job}", "-o", f"part-{job}.fatctx", "--no-cache", *more)
    return [f"part-{job}.fatctx" for job in range(count)]


@pytest.mark.parametrize("options", [(), ("--sharing", "bytes"), ("--sharing", "off", "--name", "other"),
                                     ("--seal",), ("--keep-source",), ("--common-arch", "v73", "--format", "raw")],
                         ids=lambda words: " ".join(words) or "plain")
def test_merged_parts_are_what_one_run_writes(fatctx, work, options):
    fatctx(*run_of(work), *options, "--no-cache", "-o", "one.fatctx")
    said = fatctx(*run_of(work), *options, "--plan", "jobs.json").stdout
    assert "3 jobs" in said
    assert not (work / "parts.fatctx").exists()

    parts = parts_of(fatctx, 3)
    fatctx("compile", "--job", "jobs.json#1", "-o", "part-1.fatctx", "--force")  # tried again
    fatctx("merge", *reversed(parts), "-o", "merged.fatctx")

    assert (work / "merged.fatctx").read_bytes() == (work / "one.fatctx").read_bytes()


def test_the_jobs_of_a_plan_are_done_in_another_folder(fatctx, work):
    fatctx(*run_of(work), "--no-cache", "-o", "one.fatctx")
    fatctx(*run_of(work), "--plan", "jobs.json")
    away = work / "away"
    away.mkdir()
    for name in ("m.bin", "jobs.json"):
        shutil.copy(work / name, away / name)

    for job in range(3):
        fatctx("compile", "--job", f"away/jobs.json#{job}", "--no-cache", "-o", f"away/part-{job}.fatctx")
    fatctx("merge", *(f"away/part-{job}.fatctx" for job in range(3)), "-o", "merged.fatctx")

    assert (work / "merged.fatctx").read_bytes() == (work / "one.fatctx").read_bytes()


def test_a_job_that_fails_says_why_and_can_be_tried_again(fatctx, work, monkeypatch):
    fatctx(*run_of(work), "--no-cache", "-o", "one.fatctx")
    fatctx(*run_of(work), "--plan", "jobs.json")
    monkeypatch.setenv("FAIL_FOR", "v75")
    done = fatctx("compile", "--job", "jobs.json#1", "-o", "part-1.fatctx", "--no-cache", exits=1)
    assert "no v75 today" in done.stderr + (work / "part-1.fatctx.compile.log").read_text()
    assert not (work / "part-1.fatctx").exists()
    monkeypatch.delenv("FAIL_FOR")

    fatctx("merge", *parts_of(fatctx, 3), "-o", "merged.fatctx")

    assert (work / "merged.fatctx").read_bytes() == (work / "one.fatctx").read_bytes()


def test_a_plan_with_one_job_makes_the_container_itself(fatctx, work):
    fatctx(*run_of(work, TARGETS[:1]), "--seal", "--no-cache", "-o", "one.fatctx")
    fatctx(*run_of(work, TARGETS[:1]), "--seal", "--plan", "jobs.json")
    parts_of(fatctx, 1)

    assert (work / "part-0.fatctx").read_bytes() == (work / "one.fatctx").read_bytes()


def test_the_plan_names_inputs_by_digest_and_jobs_by_target(fatctx, work):
    said = json.loads(fatctx(*run_of(work), "--plan", "jobs.json", "--json").stdout)

    assert said == json.loads((work / "jobs.json").read_text())
    data = (work / "m.bin").read_bytes()
    assert said["inputs"] == [{"path": "m.bin", "size_bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}]
    assert [job["target"] for job in said["jobs"]] == ["htp.v73", "htp.v75", "cpu.x86-64-v3"]
    assert said["options"]["target"] == list(TARGETS)


def test_another_input_is_refused(fatctx, work):
    fatctx(*run_of(work), "--plan", "jobs.json")
    with (work / "m.bin").open("ab") as file:
        file.write(b"x")

    done = fatctx("compile", "--job", "jobs.json#0", "-o", "part-0.fatctx", exits=3)

    assert "m.bin: is not the file that the plan was made for" in done.stderr
    assert not (work / "part-0.fatctx").exists()


def change(plan, path, value):
    json_of = json.loads(plan.read_text())
    place = json_of
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    plan.write_text(json.dumps(json_of))


@pytest.mark.parametrize(("path", "value", "exits", "said"), [
    (("made_by",), "fatctx 99.0", 2, "was made by fatctx 99.0"),
    (("jobs", 0, "compiler"), "cc 1.0", 5, "was made with cc 1.0"),
    (("jobs", 0, "target"), "htp:v68", 2, "the job is for htp:v68"),
    (("options", "colour"), "red", 2, "/options/colour: this version of fatctx knows no such option"),
    (("options", "target"), "htp:v73", 2, "/options/target"),
    (("schema",), "fatctx.compile_plan/9", 2, "/schema"),
    (("inputs", 0, "sha256"), "00", 2, "/inputs/0/sha256"),
    (("jobs",), [], 2, "/jobs"),
], ids=lambda value: "/".join(map(str, value)) if isinstance(value, tuple) else "")
def test_a_plan_that_does_not_fit_is_refused(fatctx, work, path, value, exits, said):
    fatctx(*run_of(work), "--plan", "jobs.json")
    change(work / "jobs.json", path, value)

    done = fatctx("compile", "--job", "jobs.json#0", "-o", "part-0.fatctx", exits=exits)

    assert said in done.stderr
    assert not (work / "part-0.fatctx").exists()


@pytest.mark.parametrize(("words", "said"), [
    (("--job", "jobs.json#3", "-o", "p.fatctx"), "the plan has the jobs 0 to 2"),
    (("--job", "jobs.json", "-o", "p.fatctx"), "write the plan and the number of the job: jobs.json#0"),
    (("--job", "jobs.json#-1", "-o", "p.fatctx"), "write the plan and the number of the job: jobs.json#0"),
    (("m.bin", "--job", "jobs.json#0", "-o", "p.fatctx"), "m.bin: belongs to the plan"),
    (("--job", "jobs.json#0", "--seal", "-o", "p.fatctx"), "--seal: belongs to the plan"),
    (("--job", "jobs.json#0", "-o", "p/"), "-o p/: a job writes a container"),
    (("--job", "jobs.json#0", "--plan", "other.json"), "give one of them"),
], ids=lambda value: " ".join(value) if isinstance(value, tuple) else "")
def test_a_job_takes_nothing_that_the_plan_has(fatctx, work, words, said):
    fatctx(*run_of(work), "--plan", "jobs.json")

    assert said in fatctx("compile", *words, exits=2).stderr


def test_a_plan_is_not_written_over_and_has_no_output(fatctx, work):
    fatctx(*run_of(work), "--plan", "jobs.json")
    assert "pass --force" in fatctx(*run_of(work), "--plan", "jobs.json", exits=2).stderr
    fatctx(*run_of(work), "--plan", "jobs.json", "--force")
    assert "-o: --plan compiles nothing" in fatctx(*run_of(work), "--plan", "b.json", "-o", "m.fatctx", exits=2).stderr
    (work / "folder").mkdir()
    folder = [word if word != "m.bin" else "folder" for word in run_of(work)]
    assert "folder: is not a regular file" in fatctx(*folder, "--plan", "c.json", exits=2).stderr


def test_no_file_that_is_read_is_written_over(fatctx, work):
    model = (work / "m.bin").read_bytes()
    assert "is the model itself" in fatctx(*run_of(work), "--plan", "m.bin", "--force", exits=2).stderr
    fatctx(*run_of(work), "--plan", "jobs.json")
    plan = (work / "jobs.json").read_text()
    (work / "parts.fatctx.compile.log").write_text("of another run")
    fatctx(*run_of(work), "--plan", "jobs.json", "--force")
    for output in ("jobs.json", "m.bin"):
        fatctx("compile", "--job", "jobs.json#0", "-o", output, "--force", exits=2)
    assert "--job: the flags of the vendor's generator" in fatctx(
        "compile", "--job", "jobs.json#0", "-o", "p.fatctx", "--backend", "libQnnHtp.so", exits=2).stderr

    assert (work / "m.bin").read_bytes() == model
    assert (work / "jobs.json").read_text() == plan
    assert (work / "parts.fatctx.compile.log").read_text() == "of another run"


def test_merge_names_what_is_missing_or_does_not_belong(fatctx, work):
    fatctx(*run_of(work), "--plan", "jobs.json")
    parts = parts_of(fatctx, 3)
    fatctx(*run_of(work, TARGETS[:2]), "--plan", "two.json")
    fatctx("compile", "--job", "two.json#0", "-o", "of-two.fatctx")
    shutil.copy(work / parts[0], work / "again.fatctx")
    fatctx(*run_of(work, TARGETS[2:]), "-o", "whole.fatctx")

    assert "of 3 jobs of the plan, 1 has no part here" in fatctx("merge", parts[0], parts[2], "-o", "m.fatctx", exits=2).stderr
    assert "parts of two plans" in fatctx("merge", *parts, "of-two.fatctx", "-o", "m.fatctx", exits=2).stderr
    assert "are both parts of job 0" in fatctx("merge", *parts, "again.fatctx", "-o", "m.fatctx", exits=2).stderr
    assert "--allow-missing-jobs is for parts" in fatctx("merge", "whole.fatctx", "whole.fatctx", "--allow-missing-jobs", "-o",
                                                         "m.fatctx", exits=2).stderr
    assert not (work / "m.fatctx").exists()
    fatctx("merge", parts[0], parts[2], "--allow-missing-jobs", "-o", "m.fatctx")
    assert "fatctx.job" not in fatctx("info", "m.fatctx", "--json").stdout


def test_equal_wrapper_models_of_several_targets_become_one(fatctx, work):
    """The parts of Snapdragon's compiler have a wrapper model each; they are built by hand here."""
    def part(job, name, model):
        (work / f"{name}.bin").write_bytes(name.encode() * 100)
        (work / f"{name}.onnx").write_bytes(model)
        mark = [{"key": key, "value": value, "owner": "fatctx.job"}
                for key, value in (("plan_sha256", "a" * 64), ("job", str(job)), ("jobs", "2"))]
        (work / f"{job}.json").write_text(json.dumps({
            "schema": "fatctx.manifest/1", "name": "net", "options": mark, "records": [
                {"type": "context_binary", "name": name, "file": f"{name}.bin", "target": {"backend": "htp", "arch": name}},
                {"type": "wrapper_model", "name": f"net.{name}.onnx", "file": f"{name}.onnx"}]}))
        fatctx("pack", f"{job}.json", "-o", f"{job}.fatctx", "--force")

    def names():
        fatctx("merge", "0.fatctx", "1.fatctx", "-o", "m.fatctx", "--force")
        return [record["name"] for record in json.loads(fatctx("info", "m.fatctx", "--json").stdout)["records"]
                if record["type"] == "wrapper_model"]

    part(0, "v73", b"one model"), part(1, "v75", b"one model")
    assert names() == ["net.onnx"]
    part(1, "v75", b"another model")
    assert names() == ["net.v73.onnx", "net.v75.onnx"]


def test_the_manifest_for_kubernetes_runs(fatctx, program, work):
    yaml = pytest.importorskip("yaml", reason="PyYAML is not installed")
    page = (ROOT / "docs" / "compile_on_many_machines.md").read_text()
    job = next(document for document in map(yaml.safe_load, re.findall(r"```yaml\n(.*?)```", page, re.DOTALL))
               if document.get("kind") == "Job")
    container = job["spec"]["template"]["spec"]["containers"][0]
    fatctx(*run_of(work), "--no-cache", "-o", "one.fatctx")
    fatctx(*run_of(work), "--plan", "jobs.json")

    assert job["spec"]["completionMode"] == "Indexed"
    for index in range(job["spec"]["completions"]):
        subprocess.run([*container["command"], *container["args"]], cwd=work, check=True, env={
            **os.environ, "JOB_COMPLETION_INDEX": str(index), "PATH": f"{program.parent}:{os.environ['PATH']}"})
    fatctx("merge", *sorted(path.name for path in work.glob("part-*.fatctx")), "-o", "merged.fatctx")

    assert (work / "merged.fatctx").read_bytes() == (work / "one.fatctx").read_bytes()


@pytest.mark.skipif(not IREE.exists(), reason="IREE's compiler is not installed (pip install iree-base-compiler)")
def test_parts_of_iree_share_the_weights_that_each_has(fatctx, tmp_path):
    np = pytest.importorskip("numpy", reason="NumPy is not installed")
    onnx = pytest.importorskip("onnx", reason="onnx is not installed")
    weights = onnx.numpy_helper.from_array(np.random.default_rng(3).random((256, 256), np.float32), "w")
    graph = onnx.helper.make_graph(
        [onnx.helper.make_node("MatMul", ["x", "w"], ["y"])], "net",
        [onnx.helper.make_tensor_value_info("x", 1, ["batch", 256])],
        [onnx.helper.make_tensor_value_info("y", 1, ["batch", 256])], [weights])
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)])
    model.ir_version = 8
    onnx.save(model, tmp_path / "m.onnx", save_as_external_data=True, location="m.data", size_threshold=0)
    (tmp_path / "targets.json").write_text('{"targets": [{"arch": "x86-64-v2"}, {"arch": "aarch64"}]}')
    run = ["compile", "m.onnx", "--targets", "targets.json", "--target", "x86-64-v3", "--shape", "x=1,256", "--shape", "x=8,256",
           "--iree-bin", IREE.parent, "--no-check", "--no-cache"]
    fatctx(*run, "-o", "one.fatctx")
    plan = json.loads(fatctx(*run, "--plan", "jobs.json", "--json").stdout)
    assert {item["path"] for item in plan["inputs"]} == {"m.onnx", "m.data", "targets.json"}
    assert len(plan["jobs"]) == 6

    parts = parts_of(fatctx, 6, "jobs.json", "--iree-bin", IREE.parent)
    fatctx("merge", *parts, "-o", "merged.fatctx")

    assert (tmp_path / "merged.fatctx").read_bytes() == (tmp_path / "one.fatctx").read_bytes()
