"""fatctx info of a DLC: filters that give the same rows as text, JSON and CSV, lines of 80 columns, and what its
compiler states, in words."""

import csv
import io
import json
import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))

import dlc_archive  # noqa: E402

LONG = "a_graph_of_a_vision_encoder_whose_name_has_seventy_characters_as_"


@pytest.fixture()
def dlc(tmp_path):
    """Four SoCs, two graphs each, with names of 70 characters."""
    names = [LONG + "first", LONG + "later"]
    assert {len(name) for name in names} == {70}
    entries = dlc_archive.make(graphs=names)
    (tmp_path / "m.dlc").write_bytes(dlc_archive.archive(entries))
    return "m.dlc"


def entries_in(text: str) -> list[str]:
    """The names of the first table of the answer."""
    return [row.split()[0] for row in text.split("\n\n")[1].splitlines()[1:]]


@pytest.mark.parametrize("options, count", [
    ((), 7),
    (("--record", "htp.cache.*"), 4),
    (("--type", "context_binary", "--target", "v7?"), 3),
    (("--target", "soc"), 4),
    (("--target", "57"), 1),
    (("--sort", "size"), 7),
    (("--type", "shared_*", "--sort", "size"), 2),
])
def test_filters_choose_the_same_entries_as_text_json_and_csv(fatctx, dlc, options, count):
    shown = entries_in(fatctx("info", dlc, "--wide", *options).stdout)
    document = json.loads(fatctx("info", dlc, "--json", *options).stdout)
    table = list(csv.DictReader(io.StringIO(fatctx("info", dlc, "--csv", *options).stdout)))

    assert len(shown) == count
    assert shown == [entry["name"] for entry in document["entries"]] == [row["name"] for row in table]
    sizes = [int(row["size_bytes"]) for row in table]
    assert sizes == [entry["size_bytes"] for entry in document["entries"]]
    if "--sort" in options:
        assert sizes == sorted(sizes, reverse=True)
    binaries = [row["name"] for row in table if row["kind"] == "context_binary"]
    assert binaries == [soc["entry"] for soc in document["context_binaries"]]
    for soc, row in zip(document["context_binaries"], [row for row in table if row["kind"] == "context_binary"]):
        assert f"soc {soc['qnn_soc']} {soc['arch']}" in row["target"] and row["build_id"] == soc["build_id"]
        assert soc["shared"] == ["htp.shared.weights.0", "htp.metadata.shared_weights.0_metadata"]


def test_a_pattern_of_graphs_chooses_them_in_all_forms(fatctx, dlc):
    options = ("--graph", "*_first", "--target", "v79")
    text = fatctx("info", dlc, "--graphs", "--wide", *options).stdout
    document = json.loads(fatctx("info", dlc, "--json", *options).stdout)
    table = list(csv.DictReader(io.StringIO(fatctx("info", dlc, "--graphs", "--csv", *options).stdout)))

    (binary,) = document["context_binaries"]
    assert binary["graphs"] == [LONG + "first"] == [graph["name"] for graph in binary["graph_facts"]]
    assert text.count(LONG + "first\n") == 1 and LONG + "later" not in text
    assert {row["graph"] for row in table} == {LONG + "first"} and len(table) == 3


def test_nothing_that_fits_is_said(fatctx, dlc):
    assert "no entry fits" in fatctx("info", dlc, "--record", "nothing").stdout
    assert json.loads(fatctx("info", dlc, "--record", "nothing", "--json").stdout)["entries"] == []
    assert "no such graph" in fatctx("info", dlc, "--graphs", "--graph", "nothing").stdout


@pytest.mark.parametrize("view", [(), ("--graphs",)])
def test_names_of_70_characters_fit_80_columns(fatctx, dlc, view):
    narrow = fatctx("info", dlc, *view).stdout
    assert max(map(len, narrow.splitlines())) <= 80
    assert "…" not in narrow
    if view:
        wide = fatctx("info", dlc, *view, "--wide").stdout
        assert f"  {LONG}first\n" in wide and f"{LONG}first.logits" in wide


def test_the_compilers_numbers_are_said_in_words_for_the_dlc_and_for_a_container_of_it(fatctx, dlc):
    fatctx("pack", "--name", "m", "--dlc", dlc, "-o", "m.fatctx")
    of_file = fatctx("info", dlc, "--graphs", "--wide", "--record", "htp.cache.69.0").stdout
    of_container = fatctx("info", "m.fatctx", "--graphs", "--wide", "--record", "htp.cache.69.0").stdout
    assert sorted(of_file.splitlines()) == sorted(of_container.splitlines())
    for words in ("made by  v2.51.0.260101120000_1234, backendId 6, backendApiVersion 5.51.0, contextBlobSize 12288, timestamp 2026-01-01 12:00:00 UTC",
                  "spill-fill  64.0 KiB (65,536 bytes)",
                  "compiled    optimisation level 3, 4 HVX threads, DLBC off, 8 MB of VTCM, operators 0 to 41",
                  "memory      inputs and outputs 24.0 KiB, operator data 12.2 KiB, constants 0 bytes, DDR tensors 0 bytes, shared weights 24.0 KiB",
                  "facts       isSafeShareIO 0", "scale 0.02941391058266163, offset -125"):
        assert of_file.count(words) in (1, 2), words
    assert "written: 2026-01-01 12:00:07 UTC" in fatctx("info", dlc).stdout


def test_diff_names_an_option_and_a_scale_that_changed_between_two_dlcs(fatctx, tmp_path, dlc):
    entries = dlc_archive.make(graphs=[LONG + "first", LONG + "later"])
    metadata = json.loads(entries[-1].data)
    graph = metadata["cacheList"][1]["graphs"][0]
    graph["graphBlobInfo"]["optimizationLevel"] = 2
    graph["graphInputs"][1]["quantizeParams"]["scaleOffset"]["scale"] = 0.5
    graph["endOpIndex"] = 99
    entries[-1].data = json.dumps(metadata).encode()
    (tmp_path / "other.dlc").write_bytes(dlc_archive.archive(entries))

    report = json.loads(fatctx("diff", dlc, "other.dlc", "--json", exits=1).stdout)
    said = {row["what"]: (row["before"], row["after"]) for row in report["description"]}
    assert any("optimizationLevel" in what and values == ("3", "2") for what, values in said.items()), said
    assert any("endOpIndex" in what and values == ("41", "99") for what, values in said.items()), said
    assert any("0.5" in str(after) for _, after in said.values()), said


def changed(tmp_path, name: str, change) -> str:
    """A DLC whose metadata `change` has edited."""
    entries = dlc_archive.make(graphs=["prefill", "decode"])
    metadata = json.loads(entries[-1].data)
    change(metadata)
    entries[-1].data = json.dumps(metadata).encode()
    (tmp_path / name).write_bytes(dlc_archive.archive(entries))
    return name


def test_the_cores_that_a_graph_was_compiled_for_are_said_in_words(fatctx, tmp_path):
    def cores(metadata):
        for number, row in enumerate(metadata["cacheList"]):
            row["graphs"][0]["graphBlobInfo"]["numCores"] = number + 1

    fatctx("pack", "--name", "m", "--dlc", changed(tmp_path, "cores.dlc", cores), "-o", "m.fatctx")
    for file in ("cores.dlc", "m.fatctx"):
        text = fatctx("info", file, "--graphs", "--wide").stdout
        for words in ("4 HVX threads, 1 core, DLBC off", "4 HVX threads, 2 cores, DLBC off", "4 HVX threads, 4 cores, DLBC off"):
            assert text.count(words) == 1, words
    document = json.loads(fatctx("info", "cores.dlc", "--json").stdout)
    said = {(option["key"], option["value"]) for option in document["context_binaries"][2]["graph_facts"][0]["options"]}
    assert ("numCores", "3") in said


def test_the_range_of_operators_is_the_same_as_text_json_and_csv(fatctx, tmp_path):
    def ranges(metadata):
        for number, row in enumerate(metadata["cacheList"]):
            row["graphs"][0] |= {"startOpIndex": number, "endOpIndex": 1000 + number}
            del row["graphs"][1]["startOpIndex"]
            del row["graphs"][1]["endOpIndex"]
        del metadata["cacheList"][3]["graphs"][0]["startOpIndex"]

    dlc = changed(tmp_path, "ops.dlc", ranges)
    rows = list(csv.DictReader(io.StringIO(fatctx("info", dlc, "--ops", "--csv").stdout)))
    document = json.loads(fatctx("info", dlc, "--ops", "--json").stdout)
    text = fatctx("info", dlc, "--ops").stdout

    assert [(row["entry"], row["graph"], row["first"], row["last"]) for row in rows] == [
        ("htp.cache.43.0", "prefill", "0", "1000"), ("htp.cache.57.0", "prefill", "1", "1001"),
        ("htp.cache.69.0", "prefill", "2", "1002"), ("htp.cache.87.0", "prefill", "", "1003")]
    assert [(row["first"], row["last"]) for row in document["ops"]] == [(0, 1000), (1, 1001), (2, 1002), (None, 1003)]
    assert [line.split() for line in text.splitlines()[-4:]][1] == ["htp.cache.57.0", "prefill", "1", "1,001"]
    assert "states their range, not their names" in " ".join(text.split())
    assert "operators to 1003" in fatctx("info", dlc, "--graphs", "--wide").stdout  # the first one is not stated
    one = json.loads(fatctx("info", dlc, "--ops", "--json", "--target", "v75", "--graph", "pre*").stdout)["ops"]
    assert [row["entry"] for row in one] == ["htp.cache.57.0"]
    assert "does not name its operators" in fatctx("info", dlc, "--ops", "--op", "Conv*", exits=2).stderr
    assert "two views" in fatctx("info", dlc, "--ops", "--graphs", exits=2).stderr

    # A container that was made of it says the same.
    fatctx("pack", "--name", "m", "--dlc", dlc, "-o", "m.fatctx")
    packed = list(csv.DictReader(io.StringIO(fatctx("info", "m.fatctx", "--ops", "--csv").stdout)))
    assert [row | {"record": None} for row in packed] == [
        {"record": None} | {key: row[key] for key in ("graph", "first", "last")} for row in rows]
    document = json.loads(fatctx("info", "m.fatctx", "--ops", "--json").stdout)
    names = {record["id"]: record["name"] for record in document["records"]}
    assert document["ops"] == []
    assert [(names[row["record"]], row["first"], row["last"]) for row in document["op_ranges"]] == [
        (row["record"], int(row["first"]) if row["first"] else None, int(row["last"])) for row in packed]
    text = fatctx("info", "m.fatctx", "--ops").stdout
    assert "states their range, not their names" in " ".join(text.split())
    assert [line.split()[-2:] for line in text.splitlines()[-4:]][1] == ["1", "1,001"]
    one = json.loads(fatctx("info", "m.fatctx", "--ops", "--json", "--target", "v75", "--graph", "pre*").stdout)
    assert [(row["graph"], row["first"]) for row in one["op_ranges"]] == [("prefill", 1)]
    assert "do not state them" in fatctx("info", "m.fatctx", "--ops", "--op", "Conv*", exits=3).stderr
    assert "do not state them" in fatctx("info", "m.fatctx", "--summary", exits=3).stderr


COMMAND = "qairt-converter --input_network net.onnx --quantization_overrides net.encodings --target_backend HTP"


@pytest.mark.parametrize("form", ["json", "lines"])
def test_commands_versions_and_copyright_of_a_dlc_are_shown(fatctx, tmp_path, form):
    said = {"converter-command": COMMAND, "quantizer-command": "qairt-quantizer --act_bitwidth 16", "converter-version": "2.51.0",
            "model-version": "7", "model-copyright": "(c) Somebody"}
    if form == "json":
        dlc = changed(tmp_path, "said.dlc", lambda metadata: metadata.update({"version-info": [said]}))
        said = {f"version-info.{key}": value for key, value in said.items()} | {"header.version": "2.3.0"}
    else:
        entries = dlc_archive.make(naming="backend", socs=[57])
        entries[-1].data = "".join(f"{key}={value}\n" for key, value in said.items()).encode()
        (tmp_path / "said.dlc").write_bytes(dlc_archive.archive(entries))
        dlc = "said.dlc"
    document = json.loads(fatctx("info", dlc, "--json").stdout)
    assert {option["key"]: option["value"] for option in document["options"]}.items() >= said.items()
    text = fatctx("info", dlc).stdout
    assert max(map(len, text.splitlines())) <= 80
    for value in said.values():
        assert value in " ".join(text.split())
    fatctx("pack", "--name", "m", "--dlc", dlc, "-o", "m.fatctx")
    assert COMMAND in " ".join(fatctx("dlc", "list", "m.fatctx").stdout.split())
    assert COMMAND not in fatctx("info", "m.fatctx", "--options", "--records").stdout  # descriptions have no command lines


def test_hostile_facts_of_a_dlc_stay_text_and_cost_only_themselves(fatctx, tmp_path):
    def hostile(metadata):
        metadata["a\u202eb"] = "not a key"
        metadata["k" * 300] = "too long a key"
        metadata["long"] = "x" * (1 << 20)
        metadata["list"] = ["a", 2, True]
        metadata["bidi"] = "\u202egnp.exe\u001b[31m"
        metadata["deep"] = {"a": {"b": {"c": {"d": 1.5}}}}
        metadata["many"] = {str(number): {"at": number} for number in range(1000)}

    dlc = changed(tmp_path, "hostile.dlc", hostile)
    done = fatctx("info", dlc)
    assert "\x1b" not in done.stdout and "\u202e" not in done.stdout and "\\u202egnp.exe" in done.stdout
    facts = {option["key"]: option["value"] for option in json.loads(fatctx("info", dlc, "--json").stdout)["options"]}
    assert facts["list"] == "a, 2, true" and facts["deep.a.b.c.d"] == "1.5" and facts["many.7.at"] == "7"
    assert facts["bidi"].startswith("\u202e") and "long" not in facts and len(facts) == 512
    checked = json.loads(fatctx("dlc", "check", dlc, "--json", exits=1).stdout)
    assert any("is not shown whole" in finding for finding in checked["findings"])


def test_a_dlc_without_facts_of_its_own_has_an_empty_list_of_them(fatctx, tmp_path):
    dlc = changed(tmp_path, "bare.dlc", lambda metadata: metadata.pop("header"))
    document = json.loads(fatctx("info", dlc, "--json").stdout)
    assert document["options"] == [] and document["written_at"] is None
