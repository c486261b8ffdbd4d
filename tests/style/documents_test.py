"""Documents are checked wherever possible: links, examples, and the required content of the guides."""

import json
import re
import subprocess
from pathlib import Path

import pytest

from checkout import ROOT, files, matching, text_of

LINK = re.compile(r"\[[^\]\n]*\]\(([^)\s]+)\)")
EXAMPLE = re.compile(r"<!-- ([\w./-]+) -->\n```\w*\n(.*?)```", re.DOTALL)


def without_code(text: str) -> str:
    return re.sub(r"```.*?```|`[^`\n]*`", "", text, flags=re.DOTALL)


def anchors(text: str) -> set[str]:
    titles = re.findall(r"^#+ +(.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).strip().replace(" ", "-") for title in titles}


def broken_links(name: str, text: str, exists=lambda path: path.exists()) -> list[str]:
    found = []
    for target in LINK.findall(without_code(text)):
        path, _, anchor = target.partition("#")
        if target.startswith(("http://", "https://", "mailto:")):
            continue
        file = (ROOT / name).parent / path if path else ROOT / name
        if not exists(file):
            found.append(f"{name}: {target} leads nowhere")
        elif anchor and file.suffix == ".md" and anchor not in anchors(file.read_text(encoding="utf-8")):
            found.append(f"{name}: {target}: no such title")
    return found


def differing_examples(text: str, read) -> list[str]:
    """Returns differences: every <!-- file --> before a code block promises that the block equals that file."""
    return [f"the block after <!-- {file} --> is not that file" for file, block in EXAMPLE.findall(text)
            if read(file) != block]


def dead_pointers(name: str, text: str) -> list[str]:
    """Returns missing pages and sections that a source file refers to."""
    found = []
    for page, section in re.findall(r"\b(docs/(?:[a-z_]+/)*[A-Za-z_]+\.md|(?<!/)[a-z_]+\.md)(?:,? (?:section )?(\d+(?:\.\d+)?)\b)?", text):
        file = ROOT / page if page.startswith("docs/") else ROOT / "docs" / page
        if not file.exists():
            found.append(f"{name}: {page} is not there")
        elif section and not re.search(rf"^#+ {re.escape(section)}[. ]", file.read_text(encoding="utf-8"), re.MULTILINE):
            found.append(f"{name}: {page} has no section {section}")
    return found


def missing(text: str, wanted: list[str]) -> list[str]:
    flat = re.sub(r"\s+", " ", text).lower()
    return [phrase for phrase in wanted if phrase.lower() not in flat]


def test_links_between_documents_lead_somewhere():
    names = matching(".md")
    assert len(names) >= 8
    assert [bad for name in names for bad in broken_links(name, text_of(name))] == []


def pages_reached_from(name: str) -> set[Path]:
    """Returns the files that a reader reaches by following links between pages."""
    reached, waiting = set(), [ROOT / name]
    while waiting:
        page = waiting.pop().resolve()
        if page in reached or not page.is_file():
            continue
        reached.add(page)
        if page.suffix == ".md":
            targets = [target.partition("#")[0] for target in LINK.findall(without_code(page.read_text(encoding="utf-8")))]
            waiting += [page.parent / target for target in targets if target and "://" not in target]
    return reached


def test_every_page_is_reached_from_the_readme():
    reached = pages_reached_from("README.md")
    pages = [name for name in matching(".md") if not name.startswith("tests/fuzz/")]
    assert [name for name in pages if (ROOT / name).resolve() not in reached] == []


def test_a_page_without_a_link_to_it_is_found(tmp_path):
    (tmp_path / "README.md").write_text("[a](a.md)\n```\n[c](c.md)\n```\n")
    (tmp_path / "a.md").write_text("[back](README.md#x)")
    (tmp_path / "c.md").write_text("alone")
    assert {page.name for page in pages_reached_from(str(tmp_path / "README.md"))} == {"README.md", "a.md"}


def test_sources_point_to_pages_and_sections_that_exist():
    names = matching(".h", ".cc", ".h.in", ".proto", ".sh", under=("include/", "src/", "tools/", "samples/", "scripts/"))
    assert [bad for name in names for bad in dead_pointers(name, text_of(name))] == []


def test_examples_in_the_readme_are_the_samples():
    text = text_of("README.md")
    assert {file for file, _ in EXAMPLE.findall(text)} >= {"samples/cpp_quickstart.cc", "samples/python_quickstart.py"}
    assert differing_examples(text, lambda file: (ROOT / file).read_text(encoding="utf-8")) == []


def test_the_example_of_the_c_interface_is_the_sample():
    text = text_of("docs/c_api.md")
    assert [file for file, _ in EXAMPLE.findall(text)] == ["samples/c/load.c"]
    assert differing_examples(text, lambda file: (ROOT / file).read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("page, samples", [
    ("loading", ["cpp_ways_in.cc", "cpp_load.cc", "python_load.py", "cpp_memory.cc", "cpp_profile.cc"]),
    ("loading_policies", ["c/load_context.c"]),
    ("loading_failures", ["cpp_bad_days.cc"]),
])
def test_examples_of_the_pages_about_loading_are_the_samples(page, samples):
    text = text_of(f"docs/{page}.md")
    assert [file for file, _ in EXAMPLE.findall(text)] == [f"samples/{name}" for name in samples]
    assert differing_examples(text, lambda file: (ROOT / file).read_text(encoding="utf-8")) == []


# Shows S5.9.
def test_the_page_about_weights_of_onnx_models_has_the_sample_and_compares_who_maps():
    text = text_of("docs/onnxruntime_weights.md")
    assert [file for file, _ in EXAMPLE.findall(text)] == ["samples/cpp_attach.cc"]
    assert differing_examples(text, lambda file: (ROOT / file).read_text(encoding="utf-8")) == []
    rows = table_of(section_of("docs/onnxruntime_weights.md", "## What it costs"))
    assert any("mapped by ONNX Runtime" in row[0] for row in rows) and any("attached" in row[0] for row in rows)
    assert {len(row) for row in rows} == {6} and all(re.search(r"\d+ ms", row[2]) and "MB" in row[4] for row in rows)


def test_the_readme_names_commands_that_exist():
    for command in re.findall(r"^\./(\w+)", text_of("README.md"), re.MULTILINE):
        assert (ROOT / command).is_file(), f"./{command}"


def test_the_readme_says_what_vendor_loaders_read():
    assert missing(text_of("README.md"), ["stock vendor loaders read their own formats", "DLC", ".bin"]) == []


# Shows S5.21.
def test_the_contributing_guide_settles_review():
    assert missing(text_of("CONTRIBUTING.md"), ["Answer every comment", "Never force-push"]) == []


# Shows S3.78.
def test_the_contributing_guide_has_its_checklists():
    text = text_of("CONTRIBUTING.md")
    for title in ("## Checklist: add a record type", "## Checklist: add a backend adapter"):
        assert title in text
        steps = re.findall(r"^\d+\. ", text.split(title)[1].split("\n## ")[0], re.MULTILINE)
        assert len(steps) >= 5


# Shows S4.12.
def test_the_glossary_explains_the_vendors_terms():
    words = text_of("docs/architecture.md").split("\n## Words\n")[1]
    rows = {cells[1].strip(): cells[2].strip() for line in words.splitlines() if (cells := line.split("|"))[2:]}
    for term in ("DLC", "reference weight sharing", "multi-SoC DLC"):
        assert len(rows.get(term, "")) >= 60, term


def section_of(page: str, title: str) -> str:
    """Returns the lines below a title, up to the next title of its rank."""
    rank = title.split(" ")[0]
    return text_of(page).split(f"\n{title}\n")[1].split(f"\n{rank} ")[0]


def table_of(section: str) -> list[list[str]]:
    """Returns the rows of the first table, without title and ruler."""
    rows = []
    for line in section.splitlines():
        if line.startswith("|"):
            rows.append([cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip("|"))])
        elif rows:
            break
    return rows[2:]


# Shows S2.31.
def test_there_are_presets_for_linux_and_windows_and_the_windows_lane_uses_its_own():
    presets = {preset["name"]: preset for preset in json.loads(text_of("CMakePresets.json"))["configurePresets"]}
    said = subprocess.run(["cmake", "--list-presets=all", str(ROOT)], capture_output=True, text=True, check=True).stdout

    assert {"release", "windows"} <= set(re.findall(r'^ +"(\w[\w-]*)"', said, re.MULTILINE))
    toolchain = presets["windows"]["toolchainFile"].removeprefix("${sourceDir}/")
    assert "CMAKE_SYSTEM_NAME Windows" in text_of(toolchain) and "CMAKE_SYSTEM_NAME" not in json.dumps(presets["release"])
    assert "cmake --preset windows" in text_of("scripts/lane.sh")
    least = re.search(r"cmake_minimum_required\(VERSION ([\d.]+)\)", text_of("CMakeLists.txt")).group(1)
    assert missing(text_of("docs/build.md"), [f"CMake | {least}"]) == []


# Shows S3.3, S3.5.
def test_the_build_page_has_every_option_and_preset_and_needs_no_vendor_sdk():
    declared = dict(re.findall(r"^option\((FATCTX_\w+) .* (ON|OFF)\)$", text_of("CMakeLists.txt"), re.MULTILINE))
    declared |= {name: value.strip('"') for name, value in
                 re.findall(r'^set\((FATCTX_\w+|ONNXRUNTIME_ROOT) ("\w*"|\w+) CACHE', text_of("CMakeLists.txt"), re.MULTILINE)}
    assert len(declared) >= 10
    rows = table_of(section_of("docs/build.md", "## Options"))
    assert {row[0].strip("`"): row[1].strip("`") for row in rows} == declared
    presets = [preset["name"] for preset in json.loads(text_of("CMakePresets.json"))["configurePresets"] if not preset.get("hidden")]
    assert [row[0].strip("`") for row in table_of(section_of("docs/build.md", "## Presets"))] == presets
    assert missing(text_of("docs/build.md"), ["No vendor SDK, no GPU and no device is needed", "CMake | 3.25", "g++ 12 or clang 14"]) == []
    assert "cmake_minimum_required(VERSION 3.25)" in text_of("CMakeLists.txt")


# Shows S3.8, S3.9.
def test_the_install_page_tells_how_to_install_command_and_package_and_for_what():
    text = text_of("docs/install.md")
    least = re.search(r'requires-python = ">=([\d.]+)"', text_of("pyproject.toml")).group(1)
    assert missing(text, ["cmake --install build/release", "pip install .", f"CPython {least} and newer", "nightly", "`memoryview`, without a copy",
                          "NumPy", "find_package(fatctx", "pip install git+"]) == []
    version = re.search(r"project\(fatctx VERSION ([\d.]+)", text_of("CMakeLists.txt")).group(1)
    assert f"fatctx-{version}-linux-x86_64.tar.gz" in text and f"fatctx-{version}-nightly." in text


# Shows S3.33, S3.48, S3.60, S3.63.
def test_the_matrix_says_which_tool_runs_on_which_host():
    section = section_of("docs/snapdragon.md", "## Which tool runs where")
    rows = {row[0]: row for row in table_of(section)}
    assert {len(row) for row in rows.values()} == {5}
    assert rows["quantise a model"][2:] == ["yes", "yes", "no"]
    sharing = next(row for name, row in rows.items() if name.startswith("share weights"))
    assert sharing[2:4] == ["yes", "yes"] and missing(sharing[1], ["ep_weight_sharing_ctx_gen", "onnxruntime_qnn_ctx_gen"]) == []
    assert missing(section, ["made on a device", "made on a host", "the same container", "never runs them"]) == []


# Shows S3.10.
def test_the_page_about_snapdragon_tells_how_binaries_of_ai_hub_come_in():
    section = section_of("docs/snapdragon.md", "## Ways in")
    assert missing(section, ["AI Hub", "--binary model.bin@htp:", "--ep-context model_ctx.onnx", "--dlc model.dlc"]) == []


# Shows S3.34, S3.38, S3.45.
def test_the_page_about_snapdragon_has_calibration_links_and_the_example_of_mixed_precision():
    section = section_of("docs/snapdragon.md", "## How it was quantised")
    assert missing(section, ["Random numbers give a model that runs and answers badly", "calibration_sha256"]) == []
    links = LINK.findall(section)
    assert any("performance/model-optimizations/quantization" in link for link in links)
    assert any("onnxruntime-inference-examples" in link for link in links)
    short, fixed = [json.loads(block) for block in re.findall(r"```json\n(.*?)```", section, re.DOTALL)]
    assert short == {"Op4_out": [{"quant_type": "QUInt16"}]}
    assert {name: entry[0].get("convert", {}).get("recv_nodes") for name, entry in fixed.items()} == {
        "Op2_out": ["Op4"], "Op3_out": ["Op5"], "Op4_out": None, "Op5_out": ["Op6"]}
    rows = {row[0]: row[1].strip("`") for row in table_of(section.split("### Mixed precision")[1])}
    assert rows == {name: entry[0]["quant_type"].removeprefix("Q").lower() for name, entry in fixed.items()}


# Shows S4.56.
def test_sources_about_other_software_carry_their_dates():
    rows = table_of(text_of("docs/snapdragon.md").split("\n## ")[0])
    assert len(rows) >= 4
    for source, date in rows:
        assert LINK.findall(source) and re.search(r"\d|no date on the page", date), source
    assert re.search(r"was read on \d{1,2} \w+ \d{4}", text_of("docs/snapdragon.md"))


# Shows S3.80.
def test_the_contributing_guide_links_an_example_change():
    section = section_of("CONTRIBUTING.md", "## An example")
    commit, subject = re.search(r"`git show (\w{7,})`[^*]*\*([^*]+)\*", section).groups()
    assert len(LINK.findall(section)) >= 4
    shown = subprocess.run(["git", "show", "-s", "--format=%s", commit], cwd=ROOT, capture_output=True, text=True)
    if shown.returncode != 0:
        pytest.skip("the history is not here")
    assert shown.stdout.strip() == re.sub(r"\s+", " ", subject)


def test_decision_pages_are_numbered_and_keep_the_form():
    pages = sorted(Path(name).name for name in files() if re.match(r"docs/decisions/\d", name))
    numbers = [int(re.match(r"(\d{4})-[a-z0-9-]+\.md$", page).group(1)) for page in pages]
    assert numbers == list(range(1, len(numbers) + 1))
    wanted = ["## Context", "## Choice", "## Price", "## What would change our mind"]
    assert {page: missing(text_of(f"docs/decisions/{page}"), wanted) for page in pages
            if missing(text_of(f"docs/decisions/{page}"), wanted)} == {}


@pytest.mark.parametrize("text", ["[a](gone.md)", "[a](docs/gone.md#x)", "[a](README.md#no-such-title)",
                                  "![a](picture.png)"])
def test_a_planted_broken_link_is_found(text):
    assert broken_links("README.md", text)


def test_what_is_allowed_passes():
    assert broken_links("docs/format.md", "[a](architecture.md) [b](https://example.org/x) `[c](d)`\n```\n[e](f)\n```\n") == []


def test_a_planted_dead_pointer_is_found():
    assert dead_pointers("x.h", "// docs/gone.md has it") and dead_pointers("x.h", "// docs/format.md, section 99")
    assert dead_pointers("x.h", "// format.md 5.99")
    assert dead_pointers("x.h", "// docs/cli/gone.md") and dead_pointers("x.h", "// docs/gone/README.md")
    assert dead_pointers("x.h", "// docs/cli/pack.md, docs/cli/README.md") == []
    assert dead_pointers("x.h", "// docs/format.md, section 8 and format.md 5.2; docs/errors.md.") == []


def test_a_planted_example_that_differs_is_found():
    text = "<!-- samples/x.py -->\n```python\nprint(1)\n```\n"
    assert differing_examples(text, lambda file: "print(1)\n") == []
    assert differing_examples(text, lambda file: "print(2)\n")
    assert missing("never\nforce-push", ["Never force-push"]) == [] and missing("push", ["Never force-push"])


def test_the_build_matrix_has_every_lane_and_needs_no_vendor_hardware():
    lanes = {lane for named in re.findall(r"^(?:ALL|ON_REQUEST)=\((.*)\)$", text_of("check"), re.MULTILINE)
             for lane in named.split()}
    section = text_of("docs/testing.md").split("## Build matrix")[1].split("\n## ")[0]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in section.splitlines() if line.startswith("|")]
    title, _, *jobs = rows
    assert title[2:] == ["lanes", "vendor hardware"] and {job[3] for job in jobs} == {"none"}
    assert {lane for job in jobs for lane in job[2].split(", ")} == lanes


# Shows S2.26, S2.27, S2.28, S2.29.
# Words of a section with times about the page cache, and about sizes. Selection reads no file of a container.
CACHE_STATE = re.compile(r"\b[Ww]arm\b|page cache|nothing in memory|in memory")
SIZE = re.compile(r"\d ?(KiB|MiB|GiB|kB|MB|GB|bytes)\b|\b256 records\b|\d+ records|one stat")


def sections_without(state: re.Pattern, text: str) -> list[str]:
    """Returns the titles of sections with times that do not match."""
    return [section.splitlines()[0] for section in re.split(r"^(?=##+ )", text, flags=re.MULTILINE)[1:]
            if re.search(r"\d (ns|µs|ms|s) \|", section) and not state.search(section)]


# Shows S2.29.
def test_our_own_figures_name_machine_storage_cache_and_sizes():
    text = text_of("docs/benchmarks.md")
    head = text.split("\n## ")[0]
    assert missing(head, ["2 cores", "Linux 6.18", "ext4 on a virtual disk"]) == []
    assert sections_without(CACHE_STATE, text) == [] and sections_without(SIZE, text) == []
    planted = "## A\n| x | 5 ms |\n## B\nwarm, 3 MB\n| x | 5 ms |\n"
    assert sections_without(CACHE_STATE, planted) == ["## A"] and sections_without(SIZE, planted) == ["## A"]


def test_the_published_load_times_stand_with_what_is_known_of_them():
    section = section_of("docs/benchmarks.md", "### Published for another machine")
    rows = {row[0]: row[1:5] for row in table_of(section)}
    assert rows["DeepSeek Qwen 14B, INT4"] == ["31.2312", "34.9162", "4.95345", "3.7258"]
    assert rows["Llama 3.1 8B Instruct, FP16"] == ["28.264", "30.8706", "6.77561", "6.0288"]
    assert rows["Stable Diffusion 3.5, transformer"] == ["107.296", "121.263", "24.8112", "9.07548"]
    assert missing(section, ["RTX 5090", "storage", "cache", "sizes"]) == []
