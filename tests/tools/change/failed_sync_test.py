"""A disk whose sync fails under an append, on a real kernel: acknowledged content from before and after the failure
is there once the page cache is empty.

The disk is a compressed block device in memory (zram) with a limit. A write beyond the limit fails, the old bytes
stay on the device, and the kernel continues to show the new ones from its page cache. The test sets the limit while
the appender is stopped between its two barriers. It runs in a mount namespace of its own and needs root, zram,
mkfs.ext4 and strace.
"""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import time

import pytest

CONTROL = pathlib.Path("/sys/class/zram-control")
HELD_S = 4  # between the barriers


def why_not() -> str | None:
    missing = [name for name in ("mkfs.ext4", "strace", "unshare") if shutil.which(name, path=f"{os.environ['PATH']}:/usr/sbin") is None]
    if missing:
        return f"needs {', '.join(missing)}"
    if sys.platform != "linux" or os.geteuid() != 0 or not CONTROL.is_dir():
        return "needs root and the kernel's zram"
    probe = subprocess.run(["unshare", "-m", "true"], capture_output=True, text=True, check=False)
    return f"no mount namespace: {probe.stderr.strip()}" if probe.returncode else None


pytestmark = pytest.mark.skipif(why_not() is not None, reason=str(why_not()))


class Disk:
    """A file system on a device that fails on request. Commands run in a namespace that sees it mounted."""

    def __init__(self, folder: pathlib.Path):
        try:
            self.number = (CONTROL / "hot_add").read_text().strip()
        except OSError as error:
            pytest.skip(f"the kernel makes no zram device: {error}")
        self.block = pathlib.Path(f"/sys/block/zram{self.number}")
        self.device = pathlib.Path(f"/dev/zram{self.number}")
        self.place = folder / "disk"
        self.place.mkdir()
        (self.block / "disksize").write_text("64M")
        if not self.device.exists():
            major, minor = (self.block / "dev").read_text().split(":")
            os.mknod(self.device, 0o600 | 0o060000, os.makedev(int(major), int(minor)))
        # Without a journal, so that the file system itself survives the failures of the file.
        subprocess.run(["/usr/sbin/mkfs.ext4", "-q", "-O", "^has_journal", self.device], check=True)
        self.holder = subprocess.Popen(["unshare", "-m", "sh", "-c", "echo; exec sleep 600"], stdout=subprocess.PIPE)
        self.holder.stdout.readline()
        self.mount()

    def inside(self, *command, **how) -> subprocess.CompletedProcess:
        entered = ["nsenter", f"--mount=/proc/{self.holder.pid}/ns/mnt", *map(str, command)]
        return subprocess.run(entered, capture_output=True, text=True, **{"check": True, **how})

    def mount(self) -> None:
        self.inside("mount", self.device, self.place)

    def start_anew(self) -> None:
        """Has the effect of a restart of the machine: empties the page cache."""
        self.inside("umount", self.place)
        self.mount()

    def fail_writes(self, fail: bool) -> None:
        (self.block / "mem_limit").write_text("1" if fail else "0")

    def remove(self) -> None:
        self.fail_writes(False)
        self.inside("umount", self.place, check=False)
        self.holder.kill()
        self.holder.wait()
        (self.block / "reset").write_text("1")
        (CONTROL / "hot_remove").write_text(self.number)


@pytest.fixture()
def disk(tmp_path):
    made = Disk(tmp_path)
    yield made
    made.remove()


class Appending:
    def __init__(self, program: pathlib.Path, disk: Disk, folder: pathlib.Path):
        self.program, self.disk, self.folder = program, disk, folder
        self.file = disk.place / "m.fatctx"

    def run(self, *arguments, exits: int = 0) -> str:
        done = self.disk.inside(self.program, *arguments, check=False)
        assert done.returncode == exits, done.stdout + done.stderr
        return done.stdout + done.stderr

    def binary(self, arch: str) -> str:
        source = self.folder / f"{arch}.bin"
        source.write_bytes(arch.encode() * 30_000)
        return f"{source}@htp:{arch}"

    def append(self, arch: str) -> None:
        self.run("append", self.file, "--binary", self.binary(arch))

    def append_on_a_failing_disk(self, arch: str) -> str:
        """Barrier 1 works, barrier 2 does not."""
        traced = self.folder / f"{arch}.strace"
        hold = f"inject=fsync,fdatasync:delay_enter={HELD_S * 1_000_000}:when=2"
        command = ["nsenter", f"--mount=/proc/{self.disk.holder.pid}/ns/mnt", "strace", "-f", "-qq", "-o", traced, "-e", "trace=fsync,fdatasync",
                   "-e", hold, self.program, "append", self.file, "--binary", self.binary(arch)]
        with subprocess.Popen(list(map(str, command)), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as appender:
            deadline = time.monotonic() + 60
            while not (traced.exists() and "= 0" in traced.read_text()):  # barrier 1 is done
                assert time.monotonic() < deadline and appender.poll() is None, appender.communicate()[0]
                time.sleep(0.05)
            time.sleep(HELD_S / 2)  # the slots reach the page cache in much less time
            self.disk.fail_writes(True)
            said = appender.communicate()[0]
        self.disk.fail_writes(False)
        assert appender.returncode == 5, said
        assert "commit_unknown" in said
        return said

    def generation(self) -> int:
        return json.loads(self.run("info", self.file, "--json"))["generation"]


@pytest.fixture()
def appending(disk, fatctx, tmp_path):
    program = pathlib.Path(fatctx("--version").args[0])
    made = Appending(program, disk, tmp_path)
    made.run("pack", "--name", "m", "--binary", made.binary("v68"), "-o", made.file)
    made.append("v69")
    disk.start_anew()
    assert made.generation() == 2
    return made


def test_the_disk_fails_as_it_is_meant_to(appending, disk):
    appending.append_on_a_failing_disk("v73")
    assert appending.generation() == 3, "reads show what the disk has not"
    disk.start_anew()
    assert appending.generation() == 2


def test_an_append_after_a_failed_sync_is_there_when_the_cache_is_gone(appending, disk):
    appending.append_on_a_failing_disk("v73")
    appending.append("v75")
    disk.start_anew()
    appending.run("verify", appending.file)
    assert appending.generation() == 4
    assert "v75" in appending.run("info", appending.file)


def test_a_repair_after_a_failed_sync_brings_to_the_disk_what_reads_show(appending, disk):
    appending.append_on_a_failing_disk("v73")
    appending.run("repair", appending.file)
    disk.start_anew()
    assert appending.generation() == 3
    appending.run("verify", appending.file)


def test_appends_that_fail_in_turn_cost_nothing_that_was_acknowledged(appending, disk):
    appending.append_on_a_failing_disk("v73")
    appending.append_on_a_failing_disk("v75")
    appending.append_on_a_failing_disk("v79")
    disk.start_anew()
    assert appending.generation() >= 2
    appending.append("v81")
    disk.start_anew()
    assert "v81" in appending.run("info", appending.file)
    appending.run("verify", appending.file)
