"""Does the jobs of a plan on a Ray cluster and merges their parts. docs/compile_on_many_machines.md

    fatctx compile model.onnx --target x86-64-v3 --target aarch64 --plan jobs.json
    python compile_on_ray.py jobs.json -o model.fatctx --address auto

The inputs travel through Ray, so that the machines need no common disk. Each of them needs `fatctx` and the compiler of
the plan, in the same versions: a job refuses others. Ray tries a job again if its machine goes away.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

import ray

ATTEMPTS = 5


def run(command: list[str]) -> str:
    """Runs a command and returns what it printed. Raises RuntimeError with its message."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}: exit code {done.returncode}\n{done.stderr}")
    return done.stdout


@ray.remote(num_cpus=1, max_retries=ATTEMPTS - 1)
def part_of(number: int, plan: bytes, names: list[str], options: list[str], fatctx: str, *inputs: bytes) -> bytes:
    """Does one job in an empty folder and returns its part. Runs on any machine of the cluster."""
    with tempfile.TemporaryDirectory() as folder:
        for name, data in zip(names, inputs):
            path = pathlib.Path(folder, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        file, part = pathlib.Path(folder, "jobs.json"), pathlib.Path(folder, "part.fatctx")
        file.write_bytes(plan)
        run([fatctx, "compile", "--job", f"{file}#{number}", "-o", str(part), "--no-cache", *options])
        return part.read_bytes()


def names_of(plan: dict) -> list[str]:
    """Returns the paths of the inputs. Ends if one is not in the folder of the plan: it has no place in another folder."""
    names = [item["path"] for item in plan["inputs"]]
    for name in names:
        path = pathlib.PurePosixPath(name)
        if path.is_absolute() or ".." in path.parts:
            sys.exit(f"{name}: is not in the folder of the plan; write the plan beside its inputs")
    return names


def parts_of(plan_file: pathlib.Path, options: list[str], fatctx: str):
    """Yields the number and the bytes of each part, as jobs end."""
    plan = json.loads(plan_file.read_text())
    names = names_of(plan)
    inputs = [ray.put((plan_file.parent / name).read_bytes()) for name in names]  # each goes to a machine once
    jobs = {part_of.remote(number, plan_file.read_bytes(), names, options, fatctx, *inputs): number
            for number in range(len(plan["jobs"]))}
    while jobs:
        (done,), _ = ray.wait(list(jobs), num_returns=1)
        number = jobs.pop(done)
        yield number, plan["jobs"][number]["target"], ray.get(done)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("plan", type=pathlib.Path)
    parser.add_argument("-o", "--output", required=True)
    parser.add_argument("--address", default="auto", help="of the cluster; default: the one of this machine")
    parser.add_argument("--fatctx", default="fatctx", help="the command, as every machine finds it")
    parser.add_argument("--option", action="append", default=[], help="one more word for each job: --option=--iree-bin=/opt/iree/bin")
    arguments = parser.parse_args()

    ray.init(address=arguments.address, log_to_driver=False)
    with tempfile.TemporaryDirectory() as folder:
        files = []
        for number, target, data in parts_of(arguments.plan, arguments.option, arguments.fatctx):
            files.append(f"{folder}/part-{number}.fatctx")
            pathlib.Path(files[-1]).write_bytes(data)
            print(f"job {number}, {target}: {len(data)} bytes", flush=True)
        if len(files) == 1:  # it is the container itself
            pathlib.Path(arguments.output).write_bytes(pathlib.Path(files[0]).read_bytes())
        else:
            print(run([arguments.fatctx, "merge", *files, "-o", arguments.output]), end="")


if __name__ == "__main__":
    main()
