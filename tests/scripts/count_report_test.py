"""The closing line of ./check is only as correct as its sums."""

import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]

CTEST = """<?xml version="1.0"?><testsuite name="x" tests="4" failures="1" skipped="1">
<testcase name="A.Works" status="run"/>
<testcase name="A.Breaks" status="fail"><failure message="Failed"/></testcase>
<testcase name="A.IsSkipped" status="notrun"><skipped message="SKIP_REGULAR_EXPRESSION_MATCHED"/></testcase>
<testcase name="A.WasNeverBuilt" status="notrun"/>
</testsuite>"""

PYTEST = """<?xml version="1.0"?><testsuites><testsuite name="pytest">
<testcase name="one"/><testcase name="two"/>
<testcase name="three"><error message="fixture broke"/></testcase>
<testcase name="four"><skipped type="pytest.skip" message="needs x86-64-v4"/></testcase>
</testsuite></testsuites>"""

GOOGLETEST = """<?xml version="1.0"?><testsuites><testsuite name="A">
<testcase name="Works" status="run" result="completed"/>
<testcase name="Breaks" status="run" result="completed"><failure message="Failed"/></testcase>
<testcase name="IsSkipped" status="run" result="skipped"><skipped message="no device"/></testcase>
<testcase name="DISABLED_IsOff" status="notrun" result="suppressed"/>
</testsuite></testsuites>"""


def count(tmp_path, text):
    report = tmp_path / "report.xml"
    report.write_text(text)
    return subprocess.run([sys.executable, str(ROOT / "scripts" / "count_report.py"), str(report)], capture_output=True,
                          text=True, check=True)


def test_a_ctest_report_is_added_up_and_an_unbuilt_test_has_failed(tmp_path):
    result = count(tmp_path, CTEST)

    assert result.stdout.split() == ["passed", "1", "failed", "2", "skipped", "1"]


def test_a_pytest_report_is_added_up_and_the_reason_of_a_skip_is_told(tmp_path):
    result = count(tmp_path, PYTEST)

    assert result.stdout.split() == ["passed", "2", "failed", "1", "skipped", "1"]
    assert "skipped: four: needs x86-64-v4" in result.stderr


def test_a_googletest_report_is_added_up_and_a_disabled_test_is_skipped(tmp_path):
    assert count(tmp_path, GOOGLETEST).stdout.split() == ["passed", "1", "failed", "1", "skipped", "2"]
