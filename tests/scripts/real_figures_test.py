"""The lane real compares two results and words an outcome; the lane itself runs on request only."""

import sys
from pathlib import Path

import pytest

np = pytest.importorskip("numpy", reason="NumPy is not installed")
pytest.importorskip("onnxruntime", reason="ONNX Runtime is not installed (pip install onnxruntime)")
pytest.importorskip("fatctx", reason="the package is not installed (scripts/build.sh)")
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "real"))
import report  # noqa: E402
from real_models import MODELS  # noqa: E402
from study import difference  # noqa: E402

X = np.array([0.5, -2.0], np.float32)


@pytest.mark.parametrize("found, wanted, by", [
    ([X], [X], 0), ([X * 1.5], [X], 0.5), ([X + np.float32(0.25)], [X], 0.125), ([], [X], np.inf), ([X[:1]], [X], np.inf),
    ([X * np.nan], [X], np.inf), ([X], [X * 0], np.inf), ([X * 0], [X * 0], 0)])
def test_a_difference_is_a_share_of_the_largest_value(found, wanted, by):
    assert difference(found, wanted) == pytest.approx(by)


@pytest.mark.parametrize("outcome, words", [
    (None, "not run"), ({"how": "refused"}, "refused, with the remedy"), ({"how": "no context"}, "not compiled by OpenVINO"),
    ({"how": "as it is"}, "failed"), ({"how": "as it is", "difference": 2e-6}, "works, 2e-06"),
    ({"how": "with sizes", "difference": 0.0}, "works with sizes, equal"),
    ({"how": "as it is", "same": "bytes", "context_size": 1}, "works, same bytes")])
def test_an_outcome_that_failed_is_not_worded_as_work(outcome, words):
    assert report.cell(outcome) == words


def test_a_way_that_ran_again_replaces_its_figures_and_keeps_the_others():
    name = MODELS[1].name
    before = [{"name": name, "outcomes": {"iree": 1, "wrap": 1}, "facts": {}, "refusals": {}}]
    now = [{"name": name, "outcomes": {"wrap": 2}, "facts": {}, "refusals": {}},
           {"name": MODELS[0].name, "outcomes": {}, "facts": {}, "refusals": {}}]
    merged = report.merged(before, now)
    assert [one["name"] for one in merged] == [MODELS[0].name, name]
    assert merged[1]["outcomes"] == {"iree": 1, "wrap": 2}


def test_inputs_are_the_same_each_time_and_not_constant():
    class Declared:
        def __init__(self, name):
            self.name, self.type = name, "tensor(float)"

    for model in MODELS:
        declared = [Declared(name) for name in model.feeds]
        one, other = model.inputs(declared), model.inputs(declared[::-1])
        assert all(np.array_equal(one[name], other[name]) for name in one)
        assert any(np.unique(value).size > 1 for value in one.values()), model.name
