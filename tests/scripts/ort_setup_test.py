"""The headers of ONNX Runtime are fetched once, by an apt with its own lists. If they are unavailable, a message
says so, and set-up does not fail."""

import shutil

APT = """
echo "$*" >> {calls}
case "$*" in
  *indextargets*) printf 'Debian http://mirror.test/debian/\\n' ;;
  *" update "*) exit {update} ;;
  *" download "*) touch libonnxruntime-dev_1.23.2_amd64.deb ;;
esac
"""
UNPACK = """
mkdir -p "$3/usr/include/onnxruntime"
echo '#define ORT_API_VERSION {interface}' > "$3/usr/include/onnxruntime/onnxruntime_c_api.h"
"""

def mirror(machine, update=0, interface=23):
    machine.tool("apt-get", APT.format(calls=machine.apt_calls, update=update))
    machine.tool("dpkg-deb", UNPACK.format(interface=interface))
    for name in ("touch", "readlink"):
        machine.real(name, shutil.which(name))


def test_what_is_there_is_not_fetched_again(machine):
    machine.onnx_runtime()
    result = machine.run("scripts/ort_setup.sh")
    assert result.returncode == 0, result.stderr
    assert not machine.apt_calls.exists()
    assert "headers of interface 23, library libonnxruntime.so.1.31.1" in result.stdout
    library = machine.checkout / "build" / "onnxruntime" / "lib" / "libonnxruntime.so"
    assert library.resolve().name == "libonnxruntime.so.1.31.1"


def test_the_headers_come_by_an_apt_of_its_own(machine):
    mirror(machine)
    machine.onnx_runtime(interface=None)
    result = machine.run("scripts/ort_setup.sh")
    assert result.returncode == 0, result.stdout + result.stderr
    calls = machine.apt_calls.read_text().splitlines()
    assert any("update" in call for call in calls) and any("download -q libonnxruntime-dev" in call for call in calls)
    # Never with the machine's own lists and sources.
    for call in calls:
        assert "indextargets" in call or f"Dir::State::Lists={machine.checkout}/build/onnxruntime/apt/lists" in call
    assert not (machine.checkout / "build" / "onnxruntime" / "apt").exists()
    assert (machine.checkout / "build" / "onnxruntime" / "include" / "onnxruntime_c_api.h").exists()


def test_without_a_network_it_is_skipped_with_the_reason(machine):
    mirror(machine, update=100)
    machine.onnx_runtime(interface=None)
    result = machine.run("scripts/ort_setup.sh")
    assert result.returncode == 5
    assert "skipped: ONNX Runtime adapter: the headers could not be fetched" in result.stdout


def test_headers_that_are_too_old_are_not_used(machine):
    machine.onnx_runtime(interface=22)
    result = machine.run("scripts/ort_setup.sh")
    assert result.returncode == 5
    assert "the headers are of interface 22, and 23 is needed" in result.stdout


def test_without_the_python_package_there_is_no_library(machine):
    machine.onnx_runtime(library=None)
    result = machine.run("scripts/ort_setup.sh")
    assert result.returncode == 5 and ".venv holds no onnxruntime" in result.stdout


def test_an_unknown_argument_is_an_error_of_use(machine):
    assert machine.run("scripts/ort_setup.sh", "--fast").returncode == 2
