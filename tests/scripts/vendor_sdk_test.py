"""No SDK of a vendor is needed to build or to test: nothing that configures, compiles or sets up asks for one, and
this build has none. Shows S3.3."""

import os
import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("FATCTX_BUILD", ROOT / "build" / "release"))

SDK = re.compile(r"(?:QNN|SNPE|QAIRT|HEXAGON)_?SDK\w*|\bQnn(?:Interface|Common|Context)\.h|\bSNPE_ROOT\b|libQnn|libSNPE|"
                 r"\bqairt\b|onnxruntime[-_]qnn", re.IGNORECASE)
# The lane on request and its set-up: ./check --with-qnn.
ON_REQUEST = {"scripts/qnn_setup.sh", "scripts/qnn_requirements.txt", "scripts/qnn_older_requirements.txt"}


def what_builds() -> list[pathlib.Path]:
    patterns = ("CMakeLists.txt", "CMakePresets.json", "pyproject.toml", "cmake/*", "scripts/*.txt", "scripts/setup.sh",
                "scripts/build.sh", "scripts/ort_setup.sh", "quickstart", ".ci/run", "src/CMakeLists.txt", "tools/CMakeLists.txt",
                "tests/CMakeLists.txt", "python/CMakeLists.txt", "samples/CMakeLists.txt")
    found = [path for pattern in patterns for path in ROOT.glob(pattern) if path.is_file()]
    return [path for path in found if path.relative_to(ROOT).as_posix() not in ON_REQUEST]


def asked_for(text: str) -> list[str]:
    return SDK.findall(text)


def test_nothing_that_builds_asks_for_an_sdk():
    files = what_builds()
    assert len(files) > 15
    assert {str(path): asked_for(path.read_text()) for path in files if asked_for(path.read_text())} == {}


def test_no_source_includes_a_header_of_an_sdk():
    for folder in ("include", "src", "tools", "tests", "samples", "python/src"):
        for path in (ROOT / folder).rglob("*.[ch]*"):
            lines = [line for line in path.read_text(errors="replace").splitlines() if line.startswith("#include")]
            assert asked_for("\n".join(lines)) == [], path


def test_this_build_has_none():
    cache = BUILD / "CMakeCache.txt"
    if not cache.exists():
        pytest.skip(f"{cache} is not there; scripts/build.sh makes it")
    settings = [line for line in cache.read_text().splitlines() if re.match(r"[\w./-]+:\w+=", line)]
    assert len(settings) > 100
    assert [line for line in settings if asked_for(line.split("=", 1)[1])] == []


def test_a_planted_sdk_is_found():
    for text in ("-DQNN_SDK_ROOT=/opt/qcom", "#include <QnnInterface.h>", "pip install onnxruntime-qnn", "-lQnn libQnnHtp.so"):
        assert asked_for(text), text
