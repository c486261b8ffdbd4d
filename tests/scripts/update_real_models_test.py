"""The tables of a run get into the page whole, or not at all."""

import importlib.util
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

spec = importlib.util.spec_from_file_location("update_real_models", ROOT / "scripts" / "update_real_models.py")
script = importlib.util.module_from_spec(spec)
spec.loader.exec_module(script)


def test_the_tables_take_the_place_of_those_before():
    page = f"# Title\n\n{script.BEGIN}old\n{script.END}\nrest\n"
    once = script.put_between(page, "| new |\n")
    assert once == f"# Title\n\n{script.BEGIN}\n| new |\n\n{script.END}\nrest\n"
    assert script.put_between(once, "| new |\n") == once


@pytest.mark.parametrize("page", ["", script.BEGIN, script.END])
def test_a_page_without_marks_is_refused(page):
    with pytest.raises(ValueError, match="no two lines"):
        script.put_between(page, "new")


def test_a_run_in_part_is_told():
    whole = {"iree": {}, "provider": {}, "attach": {}, "wrap": {}}
    found = {"models": [{"name": "a", "outcomes": whole}, {"name": "b", "outcomes": {**whole, "wrap": {}}}]}
    assert script.missing_parts(found, ["a", "b"]) == []
    del found["models"][0]["outcomes"]["iree"]
    assert script.missing_parts(found, ["a", "b", "c"]) == ["a: iree", "c: iree", "c: provider", "c: attach", "c: wrap"]


def test_the_page_has_the_marks_and_every_model():
    page = (ROOT / "docs" / "real_models.md").read_text(encoding="utf-8")
    assert script.put_between(page, "new") != page
    models = (ROOT / "tests" / "real" / "real_models.py").read_text(encoding="utf-8")
    listed = re.findall(r'RealModel\("([^"]+)", "([^"]+)", "([^"]+)"', models)
    assert len(listed) >= 12
    for name, package, licence in listed:
        assert f"| {name} | `{package}` | {licence} |" in page
        assert f"\n{package}==" in (ROOT / "scripts" / "real_requirements.txt").read_text(encoding="utf-8")
