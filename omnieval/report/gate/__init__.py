"""Is the acceptance line met? Lines of a gate file, each judged pass, fail or undecided."""

from omnieval.report.gate.build import GateResult, LineResult, Verdict, judge_run
from omnieval.report.gate.early import early_plan
from omnieval.report.gate.file import GATES, Gate, find_gate, gate_names, load_gate
from omnieval.report.gate.junit import to_junit
from omnieval.report.gate.pages import gate_page

__all__ = [
    "GATES",
    "Gate",
    "GateResult",
    "LineResult",
    "Verdict",
    "early_plan",
    "find_gate",
    "gate_names",
    "gate_page",
    "judge_run",
    "load_gate",
    "to_junit",
]
