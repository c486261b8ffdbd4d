"""The project folder of OSS-Fuzz has every fuzz target, and uses the options of the build."""

import os
import re

from checkout import ROOT, text_of

FOLDER = "tests/fuzz/oss-fuzz/"


def test_every_fuzz_target_is_built():
    named = re.search(r'^TARGETS="([^"]+)"$', text_of(FOLDER + "build.sh"), re.MULTILINE).group(1).split()
    sources = sorted(path.name.removesuffix("_fuzz.cc") for path in (ROOT / "tests/fuzz").glob("*_fuzz.cc"))
    assert len(sources) >= 10
    assert sorted(named) == [name for name in sources if name != "self_test"]
    assert [name for name in named if not (ROOT / "tests/fuzz/seeds" / name).is_dir()] == []


def test_the_options_of_the_build_are_those_of_cmake():
    options = set(re.findall(r"-D(FATCTX_\w+)", text_of(FOLDER + "build.sh")))
    declared = set(re.findall(r"^(?:option|set)\((FATCTX_\w+)", text_of("CMakeLists.txt"), re.MULTILINE))
    assert len(options) >= 4 and options <= declared
    assert "${FATCTX_FUZZING_ENGINE}" in text_of("tests/fuzz/CMakeLists.txt")


def test_the_three_files_are_what_oss_fuzz_asks_for():
    build = ROOT / FOLDER / "build.sh"
    assert os.access(build, os.X_OK) and "$LIB_FUZZING_ENGINE" in build.read_text() and "$OUT/" in build.read_text()
    docker = text_of(FOLDER + "Dockerfile")
    assert re.search(r"^FROM \S+/base-builder", docker, re.MULTILINE) and "scripts/apt-packages.txt" in docker
    project = text_of(FOLDER + "project.yaml")
    assert {line.split(":")[0] for line in project.splitlines() if re.match(r"\w+:", line)} >= {
        "homepage", "main_repo", "primary_contact", "language", "sanitizers", "fuzzing_engines"}
