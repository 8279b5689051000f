"""Verdicts as JUnit XML, which CI servers show as tests."""

from __future__ import annotations

from xml.etree import ElementTree

from omnieval.parsing import visible
from omnieval.report.gate.build import GateResult


def to_junit(result: GateResult) -> bytes:
    """One test case a line. Lines that fail or are undecided are failures, with `type` saying which."""
    failed = sum(line.verdict != "pass" for line in result.lines)
    counts = {"tests": str(len(result.lines)), "failures": str(failed), "errors": "0", "skipped": "0"}
    root = ElementTree.Element("testsuites", counts)
    suite = ElementTree.SubElement(root, "testsuite", {"name": _plain(result.gate), **counts})
    for line in result.lines:
        case = ElementTree.SubElement(
            suite,
            "testcase",
            {"classname": _plain(str(result.run["directory"])), "name": _plain(line.text), "time": "0"},
        )
        if line.verdict != "pass":
            failure = ElementTree.SubElement(
                case, "failure", {"type": line.verdict, "message": _plain(f"{line.verdict}: {line.reason}")}
            )
            failure.text = f"line {line.line}: value {line.value}, 95 % interval {line.low} to {line.high}"
    ElementTree.indent(root)
    written: bytes = ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)
    return written + b"\n"


def _plain(text: str) -> str:
    """Text without characters that XML cannot hold."""
    return visible(text)
