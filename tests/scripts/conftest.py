"""An invented machine: a copy of the scripts, and a PATH that holds only the tools that a test adds."""

import os
import pathlib
import shutil
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]

# Tools that every Linux has. The test adds everything that the scripts check (compiler, Python, apt, df ...).
PLAIN_TOOLS = ("awk bash cat chmod cp cut date dirname env find grep head ln mkdir mv paste printf rm sed seq setsid sha256sum sleep sort tail tee"
               " tr uname uniq wc").split()

V2_FLAGS = "fpu sse sse2 cx16 lahf_lm popcnt pni ssse3 sse4_1 sse4_2"


class Machine:
    """A checkout on a machine whose every property a test can fake."""

    def __init__(self, folder):
        self.checkout = folder / "checkout"
        self._bin = folder / "bin"
        self._bin.mkdir(parents=True)
        shutil.copytree(ROOT / "scripts", self.checkout / "scripts", ignore=shutil.ignore_patterns("__pycache__"))
        for name in ("check", "quickstart"):
            shutil.copy(ROOT / name, self.checkout / name)
        for name in PLAIN_TOOLS:
            (self._bin / name).symlink_to(shutil.which(name))
        self._cpuinfo = folder / "cpuinfo"
        self._os_release = folder / "os-release"
        self.environment = {
            "PATH": str(self._bin), "HOME": str(folder), "LC_ALL": "C.UTF-8",
            "FATCTX_CPUINFO": str(self._cpuinfo), "FATCTX_OS_RELEASE": str(self._os_release),
        }
        self.processor(V2_FLAGS)
        self.system("debian", "12", "Debian GNU/Linux 12 (bookworm)")
        self.machine("x86_64")
        self.free_megabytes(50_000)
        self.user(0)
        self.tool("g++", "exit 0")
        self.python("python3.11", "3.11.2")
        self.packages(missing=[])
        self.tool("apt-get", f'echo "$*" >> {folder}/apt-calls; exit 0')
        self.apt_calls = folder / "apt-calls"

    def tool(self, name, body):
        path = self._bin / name
        path.unlink(missing_ok=True)
        path.write_text(f"#!{shutil.which('bash')}\n{body}\n")
        path.chmod(0o755)

    def without(self, name):
        (self._bin / name).unlink()

    def real(self, name, target):
        (self._bin / name).unlink(missing_ok=True)
        (self._bin / name).symlink_to(target)

    def processor(self, flags):
        self._cpuinfo.write_text(f"processor\t: 0\nflags\t\t: {flags}\nflags\t\t: second processor\n")

    def system(self, name, version, pretty):
        self._os_release.write_text(f'ID={name}\nVERSION_ID="{version}"\nPRETTY_NAME="{pretty}"\n')

    def machine(self, name, kernel="Linux"):
        self.tool("uname", f'[[ $1 == -m ]] && echo {name} || echo {kernel}')

    def free_megabytes(self, number):
        self.tool("df", f"echo Filesystem 1M-blocks Used Available Use% Mounted; echo /dev/x 900000 1 {number} 1% /")

    def user(self, number):
        self.tool("id", f"echo {number}")

    def python(self, name, version, venv=True):
        self.tool(name, f'case $2 in *venv*) exit {0 if venv else 1} ;; *) echo {version} ;; esac')

    def packages(self, missing):
        lines = (self.checkout / "scripts" / "apt-packages.txt").read_text().splitlines()
        known = [line.split()[1] for line in lines if line and not line.startswith("#")]
        assert set(missing) <= set(known)
        installed = "".join(f"installed {name}:amd64\\n" for name in known if name not in missing)
        self.tool("dpkg-query", f"printf '{installed}'")

    def onnx_runtime(self, interface=23, library="libonnxruntime.so.1.31.1"):
        """Adds the headers that set-up has fetched earlier and the library of the Python package; None: missing."""
        if interface is not None:
            headers = self.checkout / "build" / "onnxruntime" / "include"
            headers.mkdir(parents=True, exist_ok=True)
            (headers / "onnxruntime_c_api.h").write_text(f"#pragma once\n#define ORT_API_VERSION {interface}\n")
        if library is not None:
            capi = self.checkout / ".venv" / "lib" / "python3.11" / "site-packages" / "onnxruntime" / "capi"
            capi.mkdir(parents=True, exist_ok=True)
            (capi / library).touch()

    def run(self, *command, **more_environment):
        return subprocess.run([str(self.checkout / command[0]), *command[1:]], cwd=self.checkout, capture_output=True,
                              text=True, timeout=300, check=False, stdin=subprocess.DEVNULL,
                              env={**self.environment, **more_environment})

    def preflight(self, *arguments, **more_environment):
        return self.run("scripts/preflight.sh", *arguments, **more_environment)


@pytest.fixture
def machine(tmp_path):
    return Machine(tmp_path)


@pytest.fixture
def this_python():
    return getattr(sys, "_base_executable", sys.executable) or sys.executable
