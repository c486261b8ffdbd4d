"""The table of SoCs, and the machine's SoC."""

import json

import pytest

import fatctx

LAB = """#fatctx.soc_table/1
#version,lab.3
#extends,built-in
vendor,part,qnn_soc,arch,vtcm_mb,runtime
Qualcomm,SM9999,120,v85,16,HTP
"""


@pytest.fixture
def phone(tmp_path):
    soc0 = tmp_path / "sys/devices/soc0"
    soc0.mkdir(parents=True)
    (soc0 / "family").write_text("Snapdragon\n")
    (soc0 / "soc_id").write_text("639\n")
    return str(tmp_path)


def test_a_part_is_found_by_any_of_its_names():
    table = fatctx.SocTable.built_in()

    row = table.find("sm8750p")
    assert (row["part"], row["rule"], row["qnn_soc"], row["arch"], row["vtcm_mb"]) == ("SM8750", "strip_p", 69, "v79", 8)
    assert table.find("SM9999") is None
    assert [soc["part"] for soc in json.loads(table.to_json("618"))["socs"]] == ["SM8750", "SM8750-AC"]
    assert table.version in repr(table)


def test_a_table_of_ones_own_adds_parts(tmp_path):
    (tmp_path / "lab.csv").write_text(LAB)
    table = fatctx.SocTable.read(tmp_path / "lab.csv")

    assert table.version == fatctx.SocTable.built_in().version + "+lab.3"
    assert fatctx.Device.from_text("SM9999", soc_table=table).vtcm_mb == 16
    assert fatctx.detect_npu(soc="120", soc_table=table).part == "SM9999"
    with pytest.raises(fatctx.InvalidArgument):
        fatctx.Device.from_text("SM9999")
    (tmp_path / "bad.csv").write_text(LAB.replace(",16,", ",lots,"))
    with pytest.raises(fatctx.InvalidArgument, match="bad.csv:5: column vtcm_mb"):
        fatctx.SocTable.read(tmp_path / "bad.csv")


def test_a_device_is_described_by_its_soc():
    device = fatctx.Device.from_text("SM8650")

    assert (device.backend, device.part, device.qnn_soc, device.arch, device.vtcm_mb) == ("htp", "SM8650", 57, "v75", 8)
    assert fatctx.Device.from_text("52").part is None


def test_the_npu_of_a_phone_is_found_in_its_files(phone):
    npu = fatctx.detect_npu(root=phone)

    assert (npu.part, npu.qnn_soc, npu.arch) == ("SM8750", 69, "v79")
    states = {source.id: source.state for source in fatctx.detection_sources(root=phone)}
    assert states["soc0.soc_id"] == "used" and states["device_tree"] == "absent"
    story = json.loads(fatctx.detection_json(root=phone, vtcm_mb=4))
    assert story["variant"] == "SM8750P" and story["npu"]["vtcm_mb"] == 4


def test_the_environment_is_asked_on_request(monkeypatch):
    monkeypatch.setenv("FATCTX_SOC", "SM8650")

    assert fatctx.detect_device().backend == "cpu"
    assert fatctx.detect_device(environment=True).part == "SM8650"


@pytest.mark.parametrize("keywords, kind, text", [
    ({"soc": "639"}, fatctx.InvalidConfig, "kernel:639"), ({"arch": "79"}, fatctx.InvalidConfig, "v79"),
    ({"soc": 69}, TypeError, "a str"), ({"socs": "69"}, TypeError, "soc, arch"),
])
def test_a_wrong_setting_is_answered_with_what_is_understood(keywords, kind, text):
    for detect in (fatctx.detect_device, fatctx.detect_npu, fatctx.detection_sources, fatctx.detection_json):
        with pytest.raises(kind, match=text):
            detect(**keywords)


@pytest.fixture
def chips(tmp_path):
    path = tmp_path / "chips.fatctx"
    fatctx.pack(path, [
        fatctx.PackRecord("context_binary", "for 8650", b"program" * 900, backend="htp", part="SM8650-AC", arch="v75"),
        fatctx.PackRecord("source_model", "source", b"graph of nodes" * 500),
    ])
    return path


def test_spellings_of_one_part_are_one_part(chips):
    selection = fatctx.open_model(chips, device="SM8650").selection

    assert (selection.tier, selection.level) == (1, "OPTIMAL")
    assert "SM8650, which the record calls SM8650-AC" in selection.explain()


def test_a_quirk_of_a_table_is_told(chips, tmp_path):
    (tmp_path / "lab.csv").write_text("#fatctx.soc_table/1\n#version,lab\n#extends,built-in\n#source,LAB,the desk\n"
                                      "#quirk,SM8650,QCS8275,LAB,every result is zero\nvendor,part\n")
    table = fatctx.SocTable.read(tmp_path / "lab.csv")

    assert fatctx.open_model(chips, device="QCS8275").selection.tier == 3
    with pytest.raises(fatctx.NoMatch, match=r"every result is zero \(LAB\) \[A8\]"):
        fatctx.open_model(chips, device="QCS8275", soc_table=table)


def test_a_source_model_is_compiled_by_the_function_that_is_given(chips):
    asked = []

    def prepare(name, unit, source, device):
        asked.append((name, unit, len(source), device.part))
        return b"compiled for " + device.part.encode()

    with pytest.raises(fatctx.NoMatch, match="no_hook"):
        fatctx.open_model(chips, device="SM8850")
    model = fatctx.open_model(chips, device="SM8850", prepare=prepare)
    sessions = [model.session(), model.session()]

    assert asked == [("source", "", 7000, "SM8850")]
    assert [bytes(session.binary()) for session in sessions] == [b"compiled for SM8850"] * 2
    assert model.selection.tier == 7 and model.selection.warnings == ["source_model"]
    assert fatctx.open(chips).select("SM8650", prepare=prepare).selection.tier == 1 and len(asked) == 1
    assert fatctx.select(fatctx.open(chips), "SM8850", prepare_hook=True).tier == 7


@pytest.mark.parametrize("answer, raised", [(lambda *_: 1 / 0, ZeroDivisionError), (lambda *_: "text", TypeError),
                                            (lambda *_: b"", fatctx.InvalidArgument), (7, TypeError)])
def test_what_goes_wrong_in_the_function_is_raised(chips, answer, raised):
    with pytest.raises(raised):
        fatctx.open_model(chips, device="SM8850", prepare=answer)


def binary(name="a", **target) -> fatctx.PackRecord:
    return fatctx.PackRecord("context_binary", name, name.encode(), group="g", unit=name, **{"backend": "htp", **target})


def facts(record) -> tuple:
    return record.backend, record.part, record.qnn_soc, record.arch, record.vtcm_mb


@pytest.mark.parametrize("target", [{"arch": "SM8650"}, {"arch": "57"}, {"arch": "kernel:557"}, {"arch": "Snapdragon 8 Gen 3"},
                                    {"part": "sm8650"}, {"qnn_soc": 57}, {"arch": "v75", "qnn_soc": 57}])
def test_a_record_is_described_in_the_words_of_a_device(target):
    record = binary(**target)
    assert facts(record)[2:] == (57, "v75", 8) and record.part.upper() == "SM8650" and record.warnings == []


def test_what_is_stated_stays_and_other_backends_and_types_are_left_alone():
    assert facts(binary(arch="SM8650", vtcm_mb=4)) == ("htp", "SM8650", 57, "v75", 4)
    assert facts(binary(backend="cpu", arch="x86-64-v3")) == ("cpu", "", 0, "x86-64-v3", 0)
    assert facts(binary(arch="v75")) == ("htp", "", 0, "v75", 0)
    weights = fatctx.PackRecord("weight_blob", "w", b"w", backend="htp", qnn_soc=57)
    assert facts(weights) == ("htp", "", 57, "", 0)


def test_a_contradiction_or_a_target_that_no_device_gets_is_refused_unless_it_is_allowed(tmp_path):
    with pytest.raises(fatctx.InvalidArgument, match='record "a": SoC 57 has arch v75, and the target says v79; correct one'):
        binary(arch="v79", qnn_soc=57)
    for target in ({"arch": "v99"}, {"qnn_soc": 99999}, {"part": "SM9999"}):
        with pytest.raises(fatctx.InvalidArgument, match="no device gets this record"):
            binary(**target)
        assert binary(**target, allow_unreachable=True).warnings == []
    kept = binary(arch="v79", qnn_soc=57, allow_unreachable=True)
    assert facts(kept) == ("htp", "", 57, "v79", 0)
    warning = "SoC 57 has arch v75, and the target says v79; the target is kept as it is stated"
    assert kept.warnings == [warning]
    assert fatctx.pack(tmp_path / "m.fatctx", [kept]).warnings == [f'record "a": {warning}']
    other = binary("b", arch="v75", qnn_soc=69, allow_unreachable=True)
    assert fatctx.append(tmp_path / "m.fatctx", [other]).warnings == [
        'record "b": SoC 69 has arch v79, and the target says v75; the target is kept as it is stated']


def test_an_own_table_completes_a_target(tmp_path):
    (tmp_path / "lab.csv").write_text("#fatctx.soc_table/1\n#version,lab.1\nvendor,part,qnn_soc,arch,vtcm_mb\nQualcomm,ZZ100,5,v75,4\n")
    table = fatctx.SocTable.read(tmp_path / "lab.csv")
    assert facts(binary(arch="ZZ100", soc_table=table)) == ("htp", "ZZ100", 5, "v75", 4)
    with pytest.raises(fatctx.InvalidArgument, match="ZZ100"):
        binary(arch="ZZ100")


@pytest.mark.parametrize("keep", ["SM8650", "57", ["Snapdragon 8 Gen 3"], "htp:SM8650", {"arch": "SM8650"}, [{"backend": "htp", "arch": "57"}]])
def test_strip_takes_the_same_words(tmp_path, keep):
    fatctx.pack(tmp_path / "m.fatctx", [binary("a", arch="SM8650"), binary("b", arch="SM8750")])
    fatctx.strip(tmp_path / "m.fatctx", keep, tmp_path / "one.fatctx")
    assert [record.name for record in fatctx.open(tmp_path / "one.fatctx").records if record.type == "context_binary"] == ["a"]
