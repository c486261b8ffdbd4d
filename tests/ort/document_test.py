"""docs/onnxruntime.md against the code: its tables are the library's, its snippets compile and run."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

import ort_sessions as s

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "onnxruntime.md").read_text()
HEADERS = ROOT / "build" / "onnxruntime" / "include"


def section(title: str) -> str:
    found = re.search(rf"^#+ {re.escape(title)}\n(.*?)(?=^## |\Z)", PAGE, re.S | re.M)
    assert found, title
    return found.group(1)


def snippets(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.S | re.M)


def first_column(text: str) -> set[str]:
    return set(re.findall(r"^\| `([a-z_.]+)`", text, re.M))


def test_the_table_of_options_is_that_of_the_library():
    code = (ROOT / "src" / "runtime" / "ort" / "ep" / "options.cc").read_text()
    table = code[code.index("kOptions[] = {"):code.index("Status unknown_option")]
    assert first_column(section("Provider options")) == set(re.findall(r'^\s*\{"([a-z_]+)",', table, re.M))


def test_the_attributes_of_the_node_are_those_that_are_read_and_written():
    code = "".join((ROOT / "src" / "runtime" / "ort" / "ep" / name).read_text() for name in ("context_node.h", "context_node.cc"))
    written = set(re.findall(r'_attribute\("([a-z_]+)"', code)) | set(re.findall(r'Attribute = "([a-z_]+)"', code))
    assert first_column(section("The node")) == written


def test_sharing_is_explained_with_its_files_and_the_upstream_page():
    """S1.2"""
    assert "N+1 files" in PAGE and "onnxruntime.ai/docs/execution-providers/EP-Context-Design.html" in PAGE


def test_the_section_about_building_has_the_switch_of_cmake_and_programs_and_links_that_exist():
    """S2.34"""
    text = section("Building")
    declared = re.search(r'set\(FATCTX_ONNXRUNTIME (\w+) CACHE STRING ".*: (\w+) \(.*\), (\w+), (\w+)"\)',
                         (ROOT / "CMakeLists.txt").read_text()).groups()
    assert declared[0] == declared[1] == "AUTO"
    assert re.findall(r"^\| `(\w+)`", text, re.M) == list(declared[1:]) and "`-DFATCTX_ONNXRUNTIME=`" in text
    assert "-DONNXRUNTIME_ROOT=" in text and "ONNXRUNTIME_ROOT" in (ROOT / "cmake" / "FindOnnxRuntime.cmake").read_text()
    programs = re.findall(r"`(scripts/[\w./]+)`", text)
    assert programs and all((ROOT / program).is_file() for program in programs)
    links = re.findall(r"\]\(https://onnxruntime\.ai/docs/([^)]+)\)", text)
    assert {"build/eps.html", "execution-providers/plugin-ep-libraries/"} <= set(links) and len(links) >= 4


def test_the_table_of_versions_names_what_is_tested():
    """S5.19: the version of this build, and those of ./check --lane versions with their figures."""
    pinned = (ROOT / "scripts" / "requirements.txt").read_text()
    built = re.search(r"^onnxruntime==(.*)$", pinned, re.M).group(1)
    assert re.search(rf"^\| {re.escape(built)} \| tested", section("Versions"), re.M)
    others = re.findall(r"^onnxruntime==(.*)$", (ROOT / "scripts" / "versions_requirements.txt").read_text(), re.M)
    assert len(others) >= 3
    for version in others:
        assert re.search(rf"^\| {re.escape(version)} \| [\d,]+ \| [\d,]+ \| \d{{4}}-\d\d-\d\d \|$", section("Versions"), re.M), version


def test_the_python_snippets_run(library, tmp_path):
    """S3.50, S3.75"""
    s.register(library)
    model = s.save(s.layers([16, 8]), tmp_path / "model.onnx")
    s.compile_model(model, tmp_path / "model_ctx.onnx")
    code = "\n".join(snippets("python"))
    code = re.sub(r"^ort\.register_execution_provider_library.*$", "", code, flags=re.M)  # registered above
    code = code.replace('"model_ctx.onnx"', repr(str(tmp_path / "model_ctx.onnx"))).replace(
        '"model.onnx"', repr(str(model)))
    space: dict = {}
    exec(compile(code, "docs/onnxruntime.md", "exec"), space)  # noqa: S102 - the page's own code
    assert space["session"].run(None, s.inputs(2, 16))[0].shape == (2, 8)


@pytest.mark.parametrize("language,wrapper,standard", [
    ("cpp", "#include <onnxruntime_cxx_api.h>\n#include <string>\n#include <unordered_map>\n#include <vector>\nvoid f{n}(Ort::Env& env{more}) {{\n{body}\n}}\n",
     "c++20"),
    ("c", "#include <onnxruntime_c_api.h>\nvoid f{n}(const OrtApi* api, OrtSessionOptions* options) {{\n{body}\n  (void)status;\n}}\n",
     "c99"),
])
def test_the_other_snippets_compile(tmp_path, language, wrapper, standard):
    """S3.50, S3.74"""
    compiler = shutil.which("g++" if language == "cpp" else "gcc")
    if not compiler or not HEADERS.exists():
        pytest.skip("no compiler, or no headers of ONNX Runtime (scripts/ort_setup.sh)")
    found = snippets(language)
    assert found
    for number, body in enumerate(found):
        more = "" if "Ort::SessionOptions options" in body else ", Ort::SessionOptions& options"
        source = tmp_path / f"snippet{number}.{'cc' if language == 'cpp' else 'c'}"
        source.write_text(wrapper.format(n=number, body=body, more=more))
        done = subprocess.run([compiler, f"-std={standard}", "-fsyntax-only", "-isystem", str(HEADERS), str(source)],
                              capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
