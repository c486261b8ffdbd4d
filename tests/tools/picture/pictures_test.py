"""fatctx report --svg: each picture says what info and select say, stays well-formed with hostile names, and has the
colours of the page."""

import json
import pathlib
import re
import xml.etree.ElementTree as ElementTree

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[3]

SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = "<script>alert(1)<img src=x> & \" ' ]]> \u202egnp.exe"
NAMES = ("treemap", "map", "sharing", "coverage", "generations")
PAGE = 4096


def noise(size: int, seed: int) -> bytes:
    state, out = seed * 2654435761 % 2**32 or 1, bytearray()
    while len(out) < size:
        state = (state * 1664525 + 1013904223) % 2**32
        out.append(state >> 24)
    return bytes(out)


@pytest.fixture()
def packed(fatctx, tmp_path):
    """Three chips that share 64 pages, in two generations, and a name that means harm."""
    common = noise(64 * PAGE, 1)
    records = []
    for i, (arch, part) in enumerate((("v73", "SM8550"), ("v75", "SM8650"), ("v79", "SM8750"))):
        (tmp_path / f"{arch}.bin").write_bytes(common + noise(20_000, 10 + i))
        records.append({"type": "context_binary", "name": f"net.{arch}", "file": f"{arch}.bin", "target": {"backend": "htp", "arch": arch, "part": part}})
    (tmp_path / "words").write_text("words")
    records.append({"type": "opaque", "name": HOSTILE, "file": "words"})
    (tmp_path / "m.json").write_text(json.dumps({"schema": "fatctx.manifest/1", "name": "m", "group": "main", "records": records}))
    fatctx("pack", "m.json", "-o", "m.fatctx")
    (tmp_path / "late.bin").write_bytes(noise(9_000, 99))
    fatctx("append", "m.fatctx", "--binary", "late.bin@htp:v68,part=SM8350,name=net.v68")
    return "m.fatctx"


def picture(fatctx, tmp_path, name: str, *options: str) -> ElementTree.Element:
    fatctx("report", "m.fatctx", "-o", f"{name}.svg", "--svg", name, *options)
    return ElementTree.parse(tmp_path / f"{name}.svg").getroot()


def titles(root: ElementTree.Element) -> list[str]:
    return [title.text for title in root.iter(f"{SVG}title")]


def exact_bytes(title: str) -> int:
    grouped = re.search(r"\(([\d,]+) bytes\)|: ([\d,]+) bytes?", title)
    return int((grouped[1] or grouped[2]).replace(",", ""))


@pytest.mark.parametrize("name", NAMES)
def test_a_picture_is_one_harmless_file(fatctx, tmp_path, packed, name):
    root = picture(fatctx, tmp_path, name)
    text = (tmp_path / f"{name}.svg").read_text()
    assert root.tag == f"{SVG}svg" and titles(root)
    assert {element.tag.removeprefix(SVG) for element in root.iter()} <= {"svg", "title", "style", "rect", "g", "text", "circle", "line"}
    assert "\u202e" not in text and "href" not in text and "<!" not in text
    for element in root.iter(f"{SVG}rect"):
        assert float(element.get("width")) > 0 and float(element.get("height")) > 0


def test_a_hostile_name_is_a_text(fatctx, tmp_path, packed):
    said = HOSTILE.replace("\u202e", "\\u202e")
    assert any(said in title for title in titles(picture(fatctx, tmp_path, "treemap")))
    assert any(said in title for title in titles(picture(fatctx, tmp_path, "map")))


def test_the_tiles_are_the_bytes_of_the_file(fatctx, tmp_path, packed):
    size = (tmp_path / packed).stat().st_size
    tiles = [title for title in titles(picture(fatctx, tmp_path, "treemap")) if title.endswith("of the file")]
    assert sum(map(exact_bytes, tiles)) == size
    shared = [title for title in tiles if title.startswith("3 records: net.v73, net.v75, net.v79")]
    assert len(shared) == 1 and exact_bytes(shared[0]) == 64 * PAGE
    assert any(title.startswith("net.v68: ") for title in tiles)


def test_the_picture_of_the_document_is_what_its_command_writes(fatctx, tmp_path):
    """docs/report_treemap.svg: four chips that share 64 pages, the weights that they refer to, and a license."""
    common = noise(64 * PAGE, 1)
    records = [{"type": "weight_blob", "name": "chat.weights", "file": "weights"}, {"type": "opaque", "name": "license", "file": "words"}]
    (tmp_path / "weights").write_bytes(noise(150_000, 5))
    (tmp_path / "words").write_text("words")
    for i, (arch, part) in enumerate((("v73", "SM8550"), ("v75", "SM8650"), ("v79", "SM8750"), ("v81", "SM8850"))):
        (tmp_path / f"{arch}.bin").write_bytes(common + noise(40_000 + 15_000 * i, 10 + i))
        records.append({"type": "context_binary", "name": f"chat.{arch}", "file": f"{arch}.bin", "weights": ["chat.weights"],
                        "target": {"backend": "htp", "arch": arch, "part": part}})
    (tmp_path / "m.json").write_text(json.dumps({"schema": "fatctx.manifest/1", "name": "chat", "group": "chat", "records": records}))
    fatctx("pack", "m.json", "-o", "m.fatctx")
    picture(fatctx, tmp_path, "treemap")
    made, kept = tmp_path / "treemap.svg", ROOT / "docs" / "report_treemap.svg"
    # The table of contents of another version may have another size, so bytes are not compared.
    shape = re.compile(r"[\d.,]+")
    assert shape.sub("0", made.read_text()) == shape.sub("0", kept.read_text()), f"take {made}"


def test_the_map_goes_through_the_file_without_a_jump(fatctx, tmp_path, packed):
    extents = json.loads(fatctx("info", packed, "--extents", "--json").stdout)["extents"]["extents"]
    said = {int(title.rsplit(" ", 1)[1], 16) for title in titles(picture(fatctx, tmp_path, "map"))[1:]}
    assert {extent["offset"] for extent in extents if extent["kind"] in ("header", "payload", "toc copy 0")} <= said
    bars = [element for element in ElementTree.parse(tmp_path / "map.svg").getroot().iter(f"{SVG}rect")][1:]
    places = [float(bar.get("x")) for bar in bars]
    assert places == sorted(places) and places[-1] < 1080


def test_sharing_has_the_bytes_of_info(fatctx, tmp_path, packed):
    info = json.loads(fatctx("info", packed, "--sharing", "--json").stdout)
    names = {record["id"]: record["name"] for record in info["records"]}
    said = {title.rpartition(": ")[0]: title for title in titles(picture(fatctx, tmp_path, "sharing"))}
    pairs = [(row["record"], other) for row in info["sharing"]["records"] for other in row["shared_with"]]
    assert len(pairs) == 6
    for record, other in pairs:
        assert exact_bytes(said[f"{names[record]} and {names[other['record']]}"]) == other["bytes"] == 64 * PAGE


def test_coverage_has_the_reasons_of_select(fatctx, tmp_path, packed):
    devices = ["SM8550", "SM8650", "SM8850", "SM8350"]
    said = titles(picture(fatctx, tmp_path, "coverage", "--devices", ",".join(devices)))
    for device in devices:
        selection = json.loads(fatctx("select", packed, "--device", device, "--json").stdout or "{}") if device != "SM8850" else json.loads(
            fatctx("select", packed, "--device", device, "--json", exits=4).stdout)
        for candidate in selection["candidates"]:
            assert f"{device}, {candidate['record']}: {candidate['reason']}" in said


def test_generations_have_their_sizes(fatctx, tmp_path, packed):
    info = json.loads(fatctx("info", packed, "--json").stdout)
    said = titles(picture(fatctx, tmp_path, "generations"))[1:]
    ends = [generation["committed_end"] for generation in info["earlier_generations"]] + [info["committed_end"]]
    assert len(ends) == 2
    assert [exact_bytes(title) for title in said] == ends


def test_the_treemap_needs_no_payload(fatctx, tmp_path, packed):
    path = tmp_path / packed
    before = picture(fatctx, tmp_path, "treemap")
    offset = next(record["file_offset"] for record in json.loads(fatctx("info", packed, "--json").stdout)["records"] if record["name"] == "net.v68")
    damaged = bytearray(path.read_bytes())
    damaged[offset] ^= 0xFF
    path.write_bytes(damaged)
    fatctx("verify", packed, exits=3)
    fatctx("report", packed, "-o", "after.svg", "--svg", "treemap")
    assert titles(ElementTree.parse(tmp_path / "after.svg").getroot()) == titles(before)


def test_a_picture_replaces_nothing_unasked_and_is_no_input(fatctx, tmp_path, packed):
    (tmp_path / "kept.svg").write_text("mine")
    fatctx("report", packed, "-o", "kept.svg", "--svg", "map", exits=2)
    assert (tmp_path / "kept.svg").read_text() == "mine"
    fatctx("report", packed, "-o", packed, "--svg", "map", "--force", exits=2)
    fatctx("report", packed, "-o", "kept.svg", "--svg", "map", "--force")
    assert (tmp_path / "kept.svg").read_text().startswith("<svg ")


def test_colours_are_those_of_the_page(fatctx, tmp_path, packed):
    """Both schemes, of every colour that a picture may use."""
    style = (ROOT / "js" / "page" / "src" / "style.css").read_text()
    light, dark = style.split("@media (prefers-color-scheme: dark)")
    pattern = re.compile(r"--([a-z-]+): (#[0-9a-f]{6})")
    page_light, page_dark = dict(pattern.findall(light)), dict(pattern.findall(dark.split("}")[0]))
    picture(fatctx, tmp_path, "treemap")
    text = (tmp_path / "treemap.svg").read_text()
    ours = dict(re.findall(r"\.fill-([a-z-]+) \{ fill: (#[0-9a-f]{6}) \}", text))
    assert len(ours) > 15
    assert ours == {name: {**page_light, **page_dark}[name] for name in ours}
    for name, colour in re.findall(r'class="fill-([a-z-]+)" fill="(#[0-9a-f]{6})"', text):
        assert page_light[name] == colour
