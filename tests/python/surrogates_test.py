"""A str with a lone surrogate names nothing and cannot be stored. Every call that takes text must refuse it as a
mistake of the caller, and never as an internal failure (RuntimeError)."""

import inspect

import pytest

import fatctx

LONE = "\ud800"
TAKES_ANYTHING = {"set_trace"}  # stores its argument, to call it later


def calls(owner):
    for name in sorted(dir(owner)):
        member = getattr(owner, name, None)
        if name not in TAKES_ANYTHING and not name.startswith("_") and callable(member) and not inspect.ismodule(member):
            yield name, member


def refusals_of(owner) -> dict[str, BaseException]:
    """Returns the exception of each call of an object that receives such text once, or twice."""
    raised = {}
    for name, call in calls(owner):
        for arguments in ((LONE,), (LONE, LONE)):
            try:
                call(*arguments)
            except Exception as error:  # noqa: BLE001
                raised[f"{name}/{len(arguments)}"] = error
    return raised


def failed_within(raised: dict[str, BaseException]) -> list[str]:
    return [f"{name}: {error!r}" for name, error in raised.items() if type(error) in (RuntimeError, SystemError)]


def test_no_call_fails_within(small):
    container = fatctx.open(small)
    blob = next(record for record in container.records if record.type == "weight_blob")
    owners = [fatctx, container, container.tensors(blob.id), fatctx.open_model(small, device="x86-64-v3")]
    seen = 0
    for owner in owners:
        raised = refusals_of(owner)
        seen += len(raised)
        assert failed_within(raised) == [], owner
    assert seen > 60, "so many calls were tried"


def test_a_name_that_is_no_utf8_is_a_unicode_error(small):
    container = fatctx.open(small)
    for call in (container.acquire, container.record, container.tensors):
        with pytest.raises(UnicodeEncodeError):
            call(LONE)
    with pytest.raises(UnicodeEncodeError):
        container.select(LONE)
    blob = next(record for record in container.records if record.type == "weight_blob")
    assert LONE not in container.tensors(blob.id)
