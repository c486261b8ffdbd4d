"""samples/compile_on_ray.py on a cluster of two workers on loopback, of which one is killed. docs/compile_on_many_machines.md"""

import os
import pathlib
import random
import subprocess
import sys
import time

import pytest

os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
ray = pytest.importorskip("ray", reason="Ray is not installed (pip install ray)")
from ray.cluster_utils import Cluster  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[3]
# A slow compiler, which notes that it began. It takes a model of any form.
COMPILER = """#!/bin/sh
set -e
echo "$2" >> "$4"
sleep 3
{ printf 'compiled for %s\\n' "$2"; cat "$1"; } > "$3"
"""
TARGETS = ("htp:v68", "htp:v69", "htp:v73", "htp:v75")


@pytest.fixture()
def cluster():
    """A head that takes no jobs, and two workers that take one each at a time."""
    made = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False})
    workers = [made.add_node(num_cpus=1) for _ in range(2)]
    made.wait_for_nodes()
    yield made, workers
    made.shutdown()


def wait_until(holds, seconds=90):
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "nothing happened"
        time.sleep(0.1)


def test_a_run_whose_worker_is_killed_gives_the_bytes_of_one_run(fatctx, program, tmp_path, cluster):
    made, workers = cluster
    (tmp_path / "m.bin").write_bytes(random.Random(11).randbytes(200_000))
    (tmp_path / "cc.sh").write_text(COMPILER)
    (tmp_path / "cc.sh").chmod(0o755)
    begun = tmp_path / "begun.txt"
    command = f"{tmp_path}/cc.sh {{model}} {{arch}} {{output}} {begun}"
    run = ["compile", "m.bin", *(word for target in TARGETS for word in ("--target", target)), "--command", command]
    fatctx(*run, "--plan", "jobs.json")

    sample = subprocess.Popen([sys.executable, ROOT / "samples" / "compile_on_ray.py", tmp_path / "jobs.json", "-o",
                               tmp_path / "ray.fatctx", "--address", made.address, "--fatctx", program],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    wait_until(lambda: begun.exists() and len(begun.read_text().split()) >= 2)
    made.remove_node(workers[0], allow_graceful=False)
    said, errors = sample.communicate(timeout=180)

    assert sample.returncode == 0, errors
    assert said.count("\njob ") + said.startswith("job ") == len(TARGETS)
    words = begun.read_text().split()
    assert set(words) == {target.partition(":")[2] for target in TARGETS}
    assert len(words) > len(TARGETS), "no job was tried again"
    fatctx(*run, "--no-cache", "-o", "one.fatctx")
    assert (tmp_path / "ray.fatctx").read_bytes() == (tmp_path / "one.fatctx").read_bytes()
