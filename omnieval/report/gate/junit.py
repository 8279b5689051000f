"""Verdicts as JUnit XML, which CI servers show as tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from xml.etree import ElementTree

from omnieval.parsing import visible
from omnieval.report.gate.build import GateResult, LineResult


def to_junit(*results: GateResult, unjudged: Mapping[str, str] | None = None) -> bytes:
    """One test suite a run, one test case a line. Lines that fail or are undecided are failures, with `type`
    saying which. unjudged: members of a suite without verdicts, and why; each is a failure too."""
    root = ElementTree.Element("testsuites", _counts(results, len(unjudged or {})))
    for result in results:
        suite = ElementTree.SubElement(root, "testsuite", {"name": _plain(result.gate), **_counts([result])})
        for line in result.lines:
            case = ElementTree.SubElement(
                suite,
                "testcase",
                {"classname": _plain(str(result.run["directory"])), "name": _plain(line.text), "time": "0"},
            )
            if line.verdict != "pass":
                failure = ElementTree.SubElement(
                    case,
                    "failure",
                    {"type": line.verdict, "message": _plain(f"{line.verdict}: {line.reason}")},
                )
                failure.text = _figures(line)
    for name, told in (unjudged or {}).items():
        suite = ElementTree.SubElement(root, "testsuite", {"name": _plain(name), **_counts([], 1)})
        case = ElementTree.SubElement(
            suite, "testcase", {"classname": _plain(name), "name": "judged", "time": "0"}
        )
        ElementTree.SubElement(
            case, "failure", {"type": "undecided", "message": _plain(f"undecided: {told}")}
        )
    ElementTree.indent(root)
    written: bytes = ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)
    return written + b"\n"


def _figures(line: LineResult) -> str:
    told = f"line {line.line}"
    if line.value is not None:
        told += f": value {line.value}"
    if line.low is not None and line.high is not None:
        told += f", 95 % interval {line.low} to {line.high}"
    return told


def _counts(results: Sequence[GateResult], unjudged: int = 0) -> dict[str, str]:
    verdicts = [line.verdict for result in results for line in result.lines]
    failed = sum(verdict != "pass" for verdict in verdicts) + unjudged
    return {"tests": str(len(verdicts) + unjudged), "failures": str(failed), "errors": "0", "skipped": "0"}


def _plain(text: str) -> str:
    """Text without characters that XML cannot hold."""
    return visible(text)
