"""Exceptions mirror the error codes of the library."""

import pickle

import pytest

import fatctx
from fatctx import _core

CODES = list(fatctx.ErrorCode)


def test_every_code_of_the_library_has_a_class_and_there_are_no_others():
    assert len(CODES) >= 36 and [int(code) for code in CODES] == list(range(1, len(CODES) + 1))
    classes = {cls.code: cls for cls in fatctx.Error.__subclasses__()}
    assert set(classes) == set(CODES)
    for code in CODES:
        assert classes[code] is getattr(fatctx, "".join(word.capitalize() for word in code.name.split("_")))


def test_a_word_that_is_none_of_an_enumeration_is_refused_with_those_that_are(tmp_path):
    with pytest.raises(fatctx.InvalidArgument, match="verify is 'all'; allowed are 'record_on_acquire', 'none', 'private_copy' and 'beside_load'"):
        fatctx.open(tmp_path / "m", verify="all")


@pytest.mark.parametrize("code", CODES, ids=lambda code: code.name.lower())
def test_the_exception_of_a_code_carries_everything_the_error_knows(code):
    with pytest.raises(fatctx.Error) as caught:
        _core._raise_sample(code, 5)
    error = caught.value
    assert type(error).code == error.code == code
    assert (error.message, error.rule, error.file_offset, error.record_id, error.os_error) == (
        "a sample", "F16", 4096, 3, 5)
    for part in ("a sample", code.name.lower(), "F16", "0x1000"):
        assert part in str(error)
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is type(error) and str(again) == str(error) and again.file_offset == 4096


@pytest.mark.parametrize("code,base", [
    ("IO", OSError), ("NOT_FOUND", KeyError), ("INVALID_ARGUMENT", ValueError), ("EXISTS", FileExistsError),
    ("OUT_OF_MEMORY", MemoryError), ("TIMED_OUT", TimeoutError), ("OPERATION_NOT_PERMITTED", PermissionError),
    ("NO_SPACE", OSError), ("INVALID_CONFIG", ValueError),
])
def test_where_python_has_a_class_for_it_ours_is_one(code, base):
    with pytest.raises(base) as caught:
        _core._raise_sample(fatctx.ErrorCode[code], 28)
    if isinstance(caught.value, OSError):
        assert caught.value.errno == 28


def test_a_missing_file_is_a_file_not_found_error(tmp_path):
    with pytest.raises(FileNotFoundError) as caught:
        fatctx.open(tmp_path / "nowhere.fatctx")
    assert isinstance(caught.value, fatctx.FileNotFound) and isinstance(caught.value, fatctx.NotFound)
    assert caught.value.errno == caught.value.os_error == 2
    assert "nowhere.fatctx" in str(caught.value)


def test_a_missing_record_is_no_file_not_found_error(small_file):
    with pytest.raises(fatctx.NotFound) as caught:
        fatctx.open(small_file).acquire("net.x86-64-v9")
    assert not isinstance(caught.value, OSError)
    assert "net.x86-64-v3" in str(caught.value), "the message lists what there is"


def test_a_path_that_is_not_utf8_can_be_named_in_an_error(tmp_path):
    with pytest.raises(fatctx.FileNotFound) as caught:
        fatctx.open(bytes(tmp_path) + b"/\xff.fatctx")
    assert "\\xff.fatctx" in str(caught.value)
