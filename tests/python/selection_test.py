"""Devices, verdicts and models."""

import json

import pytest

import fatctx
from small_container import small_records


def test_this_machine_is_described(run_python):
    device = fatctx.detect_device()

    assert device.backend == "cpu" and device.arch and device.features == sorted(set(device.features))
    again = fatctx.Device.from_json(device.to_json())
    assert (again.arch, again.features) == (device.arch, device.features)
    assert json.loads(device.to_json())["schema"] == "fatctx.device/1"
    assert device.arch in repr(device)


def test_a_device_can_be_made_by_hand():
    device = fatctx.Device(backend="htp", part="SM8650", qnn_soc=57, arch="v75", features=["b", "a", "b"], vtcm_mb=8,
                           sdk="2.44")

    assert (device.part, device.qnn_soc, device.arch, device.features) == ("SM8650", 57, "v75", ["a", "b"])
    assert (device.vtcm_mb, device.sdk, device.api) == (8, "2.44", None)
    device.sdk, device.part = None, None
    assert (device.sdk, device.part) == (None, None)
    assert fatctx.Device.from_text("aarch64+dotprod").features == ["dotprod"]
    for wrong in (lambda: fatctx.Device.from_text("z80"), lambda: fatctx.Device.from_json("{"),
                  lambda: fatctx.Device(sdk="two")):
        with pytest.raises(fatctx.InvalidArgument):
            wrong()


@pytest.mark.parametrize("device,chosen", [("x86-64-v2", "net.x86-64-v2"), ("x86-64-v3", "net.x86-64-v3"),
                                           ("x86-64-v4", "net.x86-64-v4"), ("aarch64+dotprod", "net.aarch64")])
def test_the_best_record_is_chosen_and_every_other_has_a_reason(small_file, device, chosen):
    model = fatctx.open_model(small_file, device=device)

    session = model.session()
    assert session.binary().name == session.binary("main").name == chosen
    assert [view.name for view in session.weights] == ["net.weights"]
    verdicts = {verdict.name: verdict for verdict in model.selection.verdicts}
    assert len(verdicts) == 4 and [name for name, v in verdicts.items() if v.chosen] == [chosen]
    assert model.selection.chosen == [verdicts[chosen].record_id]
    for name, verdict in verdicts.items():
        assert name in model.explain() and verdict.reason and "reason" not in repr(verdict)
        assert verdict.reason in repr(verdict)
    story = json.loads(model.explain_json())
    assert story["schema"] == "fatctx.selection/1"
    assert story == json.loads(model.selection.explain_json()) and model.explain() == model.selection.explain()
    assert model.device.arch == fatctx.Device.from_text(device).arch
    assert chosen.removeprefix("net.") in model.selection.device.arch


def test_nothing_that_fits_is_an_answer_of_select_and_an_error_of_open_model(small_file):
    container = fatctx.open(small_file)
    device = fatctx.Device(arch="x86-64-v1")

    selection = fatctx.select(container, device)
    assert not selection and selection.chosen == [] and selection.level == "UNSUPPORTED"
    assert {verdict.axis for verdict in selection.verdicts} == {"C1", "C2"}
    for choose in (lambda: container.select(device), lambda: fatctx.open_model(small_file, device=device)):
        with pytest.raises(fatctx.NoMatch) as caught:
            choose()
        assert all(verdict.name in str(caught.value) for verdict in selection.verdicts)


def test_without_a_device_the_choice_is_for_this_machine(small_file):
    mine = fatctx.detect_device()
    container = fatctx.open(small_file)

    assert fatctx.select(container).chosen == fatctx.select(container, mine).chosen
    assert fatctx.select(container).device.arch == mine.arch


def test_a_record_can_be_named_and_forced(small_file):
    container = fatctx.open(small_file)

    lower = container.select("x86-64-v4", record_override="net.x86-64-v2")
    assert lower.session().binary().name == "net.x86-64-v2" and lower.selection.tier == 0
    with pytest.raises(fatctx.NoMatch):
        container.select("x86-64-v4", record_override="net.aarch64")
    forced = container.select("x86-64-v4", record_override="net.aarch64", force=True)
    assert forced.session().binary().name == "net.aarch64"
    with pytest.raises(fatctx.InvalidArgument):
        container.select("x86-64-v4", record_override="net.mips")


def test_a_damaged_target_is_passed_over_and_told_about(small):
    record = fatctx.open(small).record("net.x86-64-v4")
    with small.open("r+b") as file:
        file.seek(record.file_offset)
        first = file.read(1)
        file.seek(record.file_offset)
        file.write(bytes([first[0] ^ 4]))

    with pytest.raises(fatctx.ChecksumMismatch):
        fatctx.open_model(small, device="x86-64-v4").session()
    for model in (fatctx.open_model(small, device="x86-64-v4", on_damage="next"),
                  fatctx.open(small).select("x86-64-v4", on_damage="next")):
        assert [model.container.record(chosen).name for chosen in model.selection.chosen] == ["net.x86-64-v3"]
        (damage,) = model.selection.damaged
        assert isinstance(damage, fatctx.ChecksumMismatch)
        assert (damage.record_id, damage.file_offset) == (record.id, record.file_offset)
        assert model.selection.warnings == ["damaged_choice"]
        assert json.loads(model.explain_json())["decision"]["damaged"][0]["record"] == "net.x86-64-v4"
        assert json.loads(model.selection.explain_json()) == json.loads(model.explain_json())
        assert model.session().binary().nbytes
    with pytest.raises(fatctx.InvalidArgument, match="on_damage is 'other'"):
        fatctx.open_model(small, device="x86-64-v4", on_damage="other")
    with pytest.raises(fatctx.InvalidArgument, match="verify is none"):
        fatctx.open_model(small, device="x86-64-v4", on_damage="next", verify="none")
    with pytest.raises(TypeError):
        fatctx.open_model(small, on_damage=1)


def test_strict_takes_only_what_uses_the_device_fully(tmp_path):
    fatctx.pack(tmp_path / "low.fatctx", [record for record in small_records() if record.name != "net.x86-64-v4"])
    container = fatctx.open(tmp_path / "low.fatctx")

    assert fatctx.select(container, "x86-64-v3", strict=True)
    assert fatctx.select(container, "x86-64-v4").chosen == [container.record("net.x86-64-v3").id]
    selection = fatctx.select(container, "x86-64-v4", strict=True)
    axes = {verdict.name: verdict.axis for verdict in selection.verdicts}
    assert not selection and axes["net.aarch64"] == "C1"
    assert axes["net.x86-64-v3"].startswith("strict") and axes["net.x86-64-v2"].startswith("strict")
    with pytest.raises(fatctx.NoMatch, match="strict"):
        fatctx.open_model(tmp_path / "low.fatctx", "x86-64-v4", strict=True)
    with pytest.raises(fatctx.NoMatch, match="strict"):
        fatctx.load(tmp_path / "low.fatctx", "x86-64-v4", strict=True)
    assert fatctx.open_model(tmp_path / "low.fatctx", "x86-64-v4", strict_table=True)


@pytest.mark.parametrize("keywords,kind,text", [
    ({"groups": "net"}, TypeError, "group, strict"), ({"strict": "yes"}, TypeError, "strict"),
    ({"boundaries": 73}, TypeError, "boundaries"), ({"device": 5}, TypeError, "x86-64-v3"),
    ({"group": "nope"}, fatctx.InvalidArgument, "nope"), ({"device": "z80"}, fatctx.InvalidArgument, "z80"),
])
def test_a_wrong_keyword_is_answered_with_the_right_ones(small_file, keywords, kind, text):
    container = fatctx.open(small_file)
    for choose in (lambda: fatctx.open_model(small_file, **keywords), lambda: container.select(**keywords),
                   lambda: fatctx.select(container, **keywords)):
        with pytest.raises(kind, match=text):
            choose()


def test_a_session_names_what_it_does_not_have(small_file):
    session = fatctx.open_model(small_file, device="aarch64").session()

    with pytest.raises(fatctx.NotFound, match="main"):
        session.binary("decode")
    with pytest.raises(fatctx.NotFound):
        session.weight("no such tensor")
    assert session.weight("u8").numpy().tolist() == [1, 2, 3, 255]
    assert session.container.report.path == str(small_file) and str(small_file) in repr(session)
