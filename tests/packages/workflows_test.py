"""The workflows of GitHub Actions, as far as they can be checked here: actionlint finds nothing, and they run what exists."""

import re
import shutil

import pytest
import yaml

from places import PLACE, ROOT, run

WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def test_actionlint_finds_nothing():
    """It knows the inputs of our own action as well, and gives the shell commands to shellcheck."""
    actionlint = PLACE / "bin" / "actionlint"
    if not actionlint.exists():
        pytest.skip(f"{actionlint} is missing; scripts/packages_setup.sh makes it")
    if not shutil.which("shellcheck"):
        pytest.skip("shellcheck is missing, which actionlint asks about the commands")

    done = run(actionlint, "-no-color", *WORKFLOWS, cwd=ROOT)

    assert done.returncode == 0, done.stdout + done.stderr


def test_scripts_of_workflows_exist_with_their_options():
    found = 0
    for workflow in WORKFLOWS:
        for job in yaml.safe_load(workflow.read_text())["jobs"].values():
            for step in job.get("steps", []):
                for script, words in re.findall(r"^((?:scripts/|\./)[\w./]+)(.*)$", step.get("run", ""), re.MULTILINE):
                    text = (ROOT / script).read_text()
                    found += 1
                    for option in re.findall(r"(?<=\s)--?[a-z][\w-]*", words):
                        assert re.search(rf"(?<![\w-]){re.escape(option)}(?![\w-])", text), f"{workflow.name}: {script} has no {option}"
    assert found >= 6


def test_only_the_job_that_publishes_may_write():
    for workflow in WORKFLOWS:
        content = yaml.safe_load(workflow.read_text())
        assert content["permissions"] == {"contents": "read"}
        writers = [name for name, job in content["jobs"].items() if "write" in str(job.get("permissions", ""))]
        assert writers in ([], ["publish"])
