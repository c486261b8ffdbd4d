"""On a terminal of 80 columns lines fit, words stay whole, and verdicts have colours."""

import fcntl
import os
import pty
import re
import struct
import subprocess
import termios

import pytest

COLUMNS = 80
COLOR = re.compile(r"\x1b\[\d*m")
LONG = "a_record_of_a_long_name_for_the_decoder_of_the_second_half"


@pytest.fixture()
def files(fatctx, tmp_path):
    """Returns the folder of model.fatctx, with two records of long names, and bad.fatctx, which is damaged."""
    for name in ("a.bin", "b.bin"):
        (tmp_path / name).write_bytes(name.encode() * 40_000)
    fatctx("pack", "-o", "model.fatctx", "--name", "a model", "--binary", f"a.bin@cpu:x86-64-v3,name={LONG}",
           "--binary", f"b.bin@cpu:x86-64-v2,name={LONG}_low")
    data = bytearray((tmp_path / "model.fatctx").read_bytes())
    data[data.index(b"a.bin" * 100)] ^= 1
    (tmp_path / "bad.fatctx").write_bytes(data)
    return tmp_path


def on_terminal(command, arguments, folder, columns=COLUMNS, **variables):
    """Returns the exit code and all text of a terminal with so many columns."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    environment = {name: value for name, value in os.environ.items() if name != "NO_COLOR"} | variables
    with subprocess.Popen([command, *map(str, arguments)], stdin=slave, stdout=slave, stderr=slave, cwd=folder,
                          env=environment) as process:
        os.close(slave)
        seen = b""
        while True:
            try:
                piece = os.read(master, 65536)
            except OSError:  # EIO: the last writer is gone
                break
            if not piece:
                break
            seen += piece
    os.close(master)
    return process.returncode, seen.decode().replace("\r\n", "\n")


@pytest.fixture()
def terminal(fatctx, files):
    command = str(fatctx("--version").args[0])
    return lambda *arguments, **how: on_terminal(command, arguments, files, **how)


def words(text):
    return re.findall(r"\S+", COLOR.sub("", text))


@pytest.mark.parametrize("arguments", [
    ["info", "model.fatctx"], ["info", "bad.fatctx", "--records"], ["verify", "model.fatctx"], ["verify", "bad.fatctx"],
    ["select", "model.fatctx", "--device", "x86-64-v4"], ["select", "model.fatctx", "--device", "SM8750"],
    ["select", "model.fatctx", "--require-coverage", "x86-64-v3,SM8750,SM8550"], ["help"], ["help", "pack"],
    ["info", "--help"], ["ls", "model.fatctx"], ["schema"], ["info", "nothing.fatctx"], ["socs", "SM87"],
    ["diff", "model.fatctx", "bad.fatctx"], ["pack", "--help"]])
def test_lines_fit_and_words_stay_whole(terminal, fatctx, arguments):
    code, seen = terminal(*arguments)
    plain = fatctx(*arguments, exits=code)
    known = set(words(plain.stdout + plain.stderr))
    for line in COLOR.sub("", seen).split("\n"):
        if line.startswith("  fatctx "):
            continue  # an example, to be copied whole
        # Only a single word may be too long, and then it has the line for itself.
        assert len(line) <= COLUMNS or len(line.split()) <= 2, line
        for word in line.split():
            assert word in known or "..." in word, (word, seen)


def test_what_programs_read_is_the_same_on_a_terminal(terminal, fatctx):
    for arguments in (["info", "model.fatctx", "--json"], ["info", "model.fatctx", "--records", "--csv"],
                      ["info", "model.fatctx", "--wide"], ["select", "model.fatctx", "--device", "x86-64-v3", "--json"]):
        assert COLOR.sub("", terminal(*arguments)[1]) == fatctx(*arguments).stdout, arguments


GREEN, RED, PLAIN = "\x1b[32m", "\x1b[31m", "\x1b[0m"


@pytest.mark.parametrize("arguments, text", [
    (["verify", "model.fatctx"], f"model.fatctx: {GREEN}whole{PLAIN}, "),
    (["verify", "bad.fatctx"], f"{RED}2 findings{PLAIN}"),
    (["info", "model.fatctx"], f"{GREEN}header and tables whole{PLAIN}"),
    (["select", "model.fatctx", "--device", "x86-64-v3"], f"{GREEN}chosen:{PLAIN} {LONG}"),
    (["select", "model.fatctx", "--device", "SM8750"], f"{RED}chosen: none{PLAIN}"),
    (["select", "model.fatctx", "--require-coverage", "x86-64-v3,SM8750"], f"{RED}1 of 2 devices get a record{PLAIN}"),
    (["select", "model.fatctx", "--require-coverage", "x86-64-v3"], f"{GREEN}1 of 1 device get a record{PLAIN}")])
def test_verdicts_have_colours_if_nothing_forbids_it(terminal, fatctx, arguments, text):
    code, seen = terminal(*arguments)
    assert text in seen
    assert "\x1b" not in terminal(*arguments, NO_COLOR="1")[1]
    assert text in terminal(*arguments, "--color", "always", NO_COLOR="1")[1]
    assert "\x1b" not in terminal(*arguments, "--color=never")[1]
    assert "\x1b" not in terminal("--color", "never", *arguments)[1]
    assert "\x1b" not in fatctx(*arguments, exits=code).stdout  # a pipe
    assert text in fatctx("--color", "always", *arguments, exits=code).stdout
    assert "always" in fatctx(*arguments, "--color", "some", exits=2).stderr


@pytest.mark.parametrize("arguments, code", [
    (["info", "nothing"], 2), (["pack", "-o", "m.fatctx", "--name", "m", "--binary", "nothing@cpu:x86-64-v3"], 2),
    (["pack", "nothing.json", "-o", "m.fatctx"], 2), (["diff", "model.fatctx", "nothing"], 2), (["append", "nothing", "--binary", "a.bin@cpu"], 2),
    (["merge", "nothing", "model.fatctx", "-o", "x"], 2), (["repair", "nothing"], 2), (["sign", "model.fatctx", "--key", "nothing"], 2),
    (["extract", "model.fatctx", "nothing", "-o", "x"], 2), (["keygen", "-o", "nowhere/key"], 2), (["compile", "nothing.onnx", "-o", "x"], 2),
    (["verify", "bad.fatctx"], 3), (["materialize", "nothing", "--cache", "c"], 2), (["ctx-gen", "-e", "reference", "nothing.onnx"], 2)])
def test_an_error_says_each_thing_once(fatctx, files, arguments, code):
    done = fatctx(*arguments, exits=code)
    for line in (done.stdout + done.stderr).splitlines():
        parts = line.removeprefix("fatctx: ").split(": ")
        assert len(parts) == len(set(parts)), line
        assert len(re.findall(r"\((not_found|checksum_mismatch|invalid_argument)\b", line)) <= 1, line
