#!/usr/bin/env python3
"""Adds up a JUnit report of ctest or pytest: "passed N", "failed N", "skipped N"; the reasons go to stderr."""

import sys
import xml.etree.ElementTree as ElementTree


def outcome(case):
    if case.get("result") == "suppressed":  # googletest's word for a test that is disabled
        return "skipped"
    if case.find("failure") is not None or case.find("error") is not None:
        return "failed"
    # ctest reports "notrun" for a test whose program was not built. That is not a skip: the test is missing.
    if case.get("status") in ("fail", "notrun") and case.find("skipped") is None:
        return "failed"
    if case.find("skipped") is not None or case.get("status") == "disabled":
        return "skipped"
    return "passed"


def main():
    numbers = {"passed": 0, "failed": 0, "skipped": 0}
    for case in ElementTree.parse(sys.argv[1]).getroot().iter("testcase"):
        result = outcome(case)
        numbers[result] += 1
        if result == "skipped":
            skipped = case.find("skipped")
            why = (skipped.get("message") if skipped is not None else None) or "disabled"
            print(f"skipped: {case.get('name')}: {why.splitlines()[0]}", file=sys.stderr)
    for name, number in numbers.items():
        print(name, number)
    return 0


if __name__ == "__main__":
    sys.exit(main())
