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
