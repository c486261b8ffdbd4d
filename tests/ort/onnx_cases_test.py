"""Every operator in ONNX's own test cases: compiled and run, it gives the results of an ordinary session.

The cases come with the package `onnx`. Cases that ONNX Runtime's CPU provider does not run are left out. Cases that
an EPContext node cannot replace are refused with that reason.
"""

import collections
import warnings

import numpy as np
import onnxruntime as ort
import pytest

import ort_sessions as s

REFUSED = ("is a tensor of strings, which EPContext nodes do not take",
           "is not a tensor, and EPContext nodes take and give tensors only")
GROUPS = ["a", "b", "c", "d", "e", "f-h", "i-k", "l", "m", "n-o", "p-q", "r", "s", "t-z"]


@pytest.fixture(scope="module", autouse=True)
def provider(library):
    s.register(library)
    ort.set_default_logger_severity(4)
    yield s.PROVIDER
    ort.set_default_logger_severity(2)


@pytest.fixture(scope="module")
def cases() -> dict[str, list]:
    """Returns the cases by the first letter of the operator."""
    from onnx.backend.test.case.node import collect_testcases

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = collect_testcases(None)
    by_letter = collections.defaultdict(list)
    for case in found:
        by_letter[case.name.removeprefix("test_")[0]].append(case)
    return by_letter


def on_the_cpu(case):
    """Returns inputs and results of an ordinary session, or None if it cannot run the case."""
    try:
        session = s.plain(case.model.SerializeToString())
        feed = {port.name: np.asarray(x) if isinstance(x, (np.generic, float, int)) else x
                for port, x in zip(session.get_inputs(), case.data_sets[0][0])}
        return feed, session.run(None, feed)
    except Exception:  # an unsupported operator or type; each has an exception of its own
        return None


def differs(case, feed, results, folder) -> str:
    """Returns an empty string, or the difference."""
    model = folder / "m.onnx"
    model.write_bytes(case.model.SerializeToString())
    try:
        s.compile_model(model, folder / "m_ctx.onnx")
    except Exception as error:
        return "" if any(reason in str(error) for reason in REFUSED) else f"{case.name}: {error}"
    try:
        got = s.session(folder / "m_ctx.onnx", session__disable_cpu_ep_fallback="1").run(None, feed)
        for a, b in zip(results, got, strict=True):
            assert a.shape == b.shape and a.dtype == b.dtype
            if a.dtype.kind in "fc":
                np.testing.assert_allclose(b, a, rtol=1e-4, atol=1e-5)
            else:
                np.testing.assert_array_equal(b, a)
    except Exception as error:
        return f"{case.name}: {error}"
    return ""


@pytest.mark.parametrize("letters", GROUPS)
def test_operators(cases, tmp_path, letters):
    first, last = letters[0], letters[-1]
    chosen = [case for letter in sorted(cases) if first <= letter <= last for case in cases[letter]]
    run, wrong = 0, []
    for case in chosen:
        if (known := on_the_cpu(case)) is None:
            continue
        run += 1
        folder = tmp_path / str(run)
        folder.mkdir()
        if why := differs(case, *known, folder):
            wrong.append(why)
    assert run, f"{len(chosen)} cases, and ONNX Runtime runs none"
    assert not wrong, f"{len(wrong)} of {run}:\n" + "\n".join(wrong)
