"""The committed seeds equal those that make_seeds.py writes. They are small and numerous enough; every target has
some."""

import importlib.util
import pathlib

import pytest

HERE = pathlib.Path(__file__).resolve().parent
SPEC = importlib.util.spec_from_file_location("make_seeds", HERE / "make_seeds.py")
MAKE = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(MAKE)

LARGEST = 4096
FEWEST = 8


def test_every_target_has_seeds():
    targets = {path.name.removesuffix("_fuzz.cc") for path in HERE.glob("*_fuzz.cc")} - {"self_test"}
    assert targets == set(MAKE.TARGETS)
    assert targets == {path.name for path in (HERE / "seeds").iterdir()}


@pytest.mark.parametrize("target", sorted(MAKE.TARGETS))
def test_the_seeds_are_what_the_program_makes(target):
    made = MAKE.TARGETS[target]()
    committed = {path.name: path.read_bytes() for path in (HERE / "seeds" / target).iterdir()}
    assert committed == made
    assert len(made) >= FEWEST
    assert len(set(made.values())) == len(made), "two seeds are the same"
    assert max(len(data) for data in made.values()) <= LARGEST
