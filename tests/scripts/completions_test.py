"""Completions in the real shells, and manual pages, as the build makes them and the installation puts them."""

import json
import os
import pathlib
import pty
import re
import select
import shutil
import subprocess
import time

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("FATCTX_BUILD", ROOT / "build" / "release"))
FATCTX = BUILD / "tools" / "fatctx"
MANUAL = BUILD / "tools" / "manual"
RECORDS = ["m.x86-64-v3", "m.x86-64-v2", "my weights"]


@pytest.fixture(scope="module", autouse=True)
def manual():
    if not (MANUAL / "commands.json").exists():
        pytest.skip(f"{MANUAL} does not exist; scripts/build.sh makes it")


@pytest.fixture(scope="module")
def tree() -> dict:
    done = subprocess.run([FATCTX, "describe-commands"], capture_output=True, text=True, check=True)
    assert json.loads((MANUAL / "commands.json").read_text()) == json.loads(done.stdout), "the build is older than the command"
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> pathlib.Path:
    """A folder with a container, its records' names, and a `fatctx` on the path of a clean shell."""
    place = tmp_path_factory.mktemp("shell")
    for name in ("a", "b", "w"):
        (place / f"{name}.bin").write_text(f"program {name}")
    subprocess.run([FATCTX, "pack", "-o", "model.fatctx", "--name", "m", "--binary", f"a.bin@cpu:x86-64-v3,name={RECORDS[0]}",
                    "--binary", f"b.bin@cpu:x86-64-v2,name={RECORDS[1]}", "--weights", f"w.bin,name={RECORDS[2]}"],
                   cwd=place, check=True, capture_output=True)
    (place / "bin").mkdir()
    (place / "bin" / "fatctx").symlink_to(FATCTX)
    return place


def environment(folder: pathlib.Path) -> dict:
    return {"PATH": f"{folder / 'bin'}:/usr/local/bin:/usr/bin:/bin", "LC_ALL": "C.UTF-8", "HOME": str(folder), "TERM": "dumb",
            "COLUMNS": "200", "LINES": "50"}


def typed_in(shell: list[str], folder: pathlib.Path, set_up: str, line: str) -> str:
    """Types a line and three tabs into an interactive shell; returns what it shows after that."""
    child, terminal = pty.fork()
    if child == 0:
        os.chdir(folder)
        os.execve(shell[0], shell, environment(folder))
    shown = ""

    def read_until(pattern: str, seconds: float = 10) -> bool:
        nonlocal shown
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if re.search(pattern, shown):
                return True
            if select.select([terminal], [], [], 0.1)[0]:
                try:
                    shown += os.read(terminal, 65536).decode(errors="replace")
                except OSError:
                    return False
        return False

    try:
        os.write(terminal, f"{set_up}; echo rea''dy\n".encode())
        assert read_until(r"ready\r?\n"), shown
        shown = ""
        os.write(terminal, line.encode() + b"\t\t\t")
        read_until("(?!)", 1.0)  # what comes within a second
        return shown
    finally:
        os.close(terminal)
        os.kill(child, 9)
        os.waitpid(child, 0)


def bash(folder, line):
    return typed_in([shutil.which("bash"), "--norc", "--noprofile", "-i"], folder,
                    f"PS1='> '; bind 'set completion-query-items 0'; bind 'set page-completions off'; source {MANUAL}/completions/fatctx.bash", line)


def zsh(folder, line):
    return typed_in([shutil.which("zsh"), "-f", "-i"], folder,
                    f"PS1='> '; fpath=({MANUAL}/completions $fpath); autoload -Uz compinit; compinit -u -D; LISTMAX=500", line)


def fish(folder, line):
    done = subprocess.run(["fish", "--no-config", "-c", f"source {MANUAL}/completions/fatctx.fish; complete -C {fish_quoted(line)}"],
                          capture_output=True, text=True, env=environment(folder), cwd=folder, check=True)
    return done.stdout


def fish_quoted(text: str) -> str:
    return "'" + text.replace("'", "\\'") + "'"


CASES = [
    ("fatctx ", ["pack", "ls", "select", "version"], ["describe-commands"]),
    ("fatctx pack --sh", ["--sharing"], ["--seal"]),
    ("fatctx pack --sharing ", ["pages", "bytes", "off"], ["model.fatctx"]),
    ("fatctx extract mo", ["model.fatctx"], ["a.bin"]),
    ("fatctx extract model.fatctx m.", RECORDS[:2], ["weights"]),
    ("fatctx extract --force -o out model.fatctx m.", RECORDS[:2], ["weights"]),
    ("fatctx help so", ["socs"], ["pack"]),
    ("fatctx cache ", ["ls", "gc"], ["model.fatctx"]),
    ("fatctx schema ses", ["session"], ["model.fatctx"]),
    ("fatctx cache ls ", ["model.fatctx"], ["gc"]),
]


@pytest.mark.parametrize("shell", [bash, zsh, fish], ids=["bash", "zsh", "fish"])
@pytest.mark.parametrize("line, offered, withheld", CASES, ids=[case[0] for case in CASES])
def test_a_real_shell_completes(shell, folder, line, offered, withheld):
    if not shutil.which(shell.__name__):
        pytest.skip(f"{shell.__name__} is not installed; scripts/setup.sh --test installs it")
    shown = shell(folder, line)
    for word in offered:
        rest = word.removeprefix(line.split(" ")[-1])  # a single match is put into the line
        assert word in shown or rest in shown, (word, shown)
    for word in withheld:
        assert word not in shown, (word, shown)


def test_a_record_with_a_space_is_quoted_in_bash(folder):
    assert "my\\ weights" in bash(folder, "fatctx extract model.fatctx my")


def test_bash_completes_the_value_behind_an_equals_sign(folder):
    assert "bytes" in bash(folder, "fatctx pack --sharing=by")


def test_every_option_of_every_command_is_in_each_completion_and_in_its_page(tree):
    texts = {file.name: file.read_text() for file in (MANUAL / "completions").iterdir()}
    assert set(texts) == {"fatctx.bash", "_fatctx", "fatctx.fish"}
    assert len(tree["commands"]) > 25
    for command in tree["commands"]:
        page = (MANUAL / "man" / f"fatctx-{command['name']}.1").read_text().replace("\\-", "-")
        for option in command["options"]:
            for name in option["names"]:
                assert f"\\fB{name}\\fR" in page
                if name.startswith("--"):
                    assert name in texts["fatctx.bash"] and name in texts["_fatctx"] and f"-l {name[2:]}" in texts["fatctx.fish"]


def test_permitted_values_are_in_the_description(tree):
    options = {(command["name"], name): option for command in tree["commands"] for option in command["options"] for name in option["names"]}
    assert options["pack", "--sharing"]["values"] == ["pages", "bytes", "off"]
    assert options["pack", "--granule"]["values"] == ["4", "16", "64"]
    assert options["pack", "-o"]["values"] == [] and options["pack", "--json"]["type"] is None


def test_manual_pages_are_clean():
    if not shutil.which("mandoc"):
        pytest.skip("mandoc is not installed; scripts/setup.sh --test installs it")
    pages = sorted((MANUAL / "man").glob("*.1"))
    assert len(pages) > 25
    done = subprocess.run(["mandoc", "-T", "lint", *pages], capture_output=True, text=True)
    assert done.stdout + done.stderr == "" and done.returncode == 0
    shown = subprocess.run(["mandoc", "-T", "ascii", MANUAL / "man" / "fatctx-pack.1"], capture_output=True, text=True, check=True).stdout
    shown = re.sub(".\b", "", shown)
    assert "fatctx-pack - Put context binaries" in shown and "One of: pages, bytes, off." in shown
    assert re.search(r"^ +70 +a bug in fatctx", shown, re.MULTILINE)


def test_the_installation_puts_them_where_shells_and_man_look(tmp_path):
    subprocess.run(["cmake", "--install", BUILD, "--prefix", tmp_path], check=True, capture_output=True)
    for place in ("bash-completion/completions/fatctx", "zsh/site-functions/_fatctx", "fish/vendor_completions.d/fatctx.fish",
                  "man/man1/fatctx.1", "man/man1/fatctx-pack.1"):
        assert (tmp_path / "share" / place).read_text()
