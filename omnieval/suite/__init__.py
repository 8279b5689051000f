"""Several recipes run as one: one directory, one report, one gate."""

from omnieval.suite.file import find_suite, is_suite, suite_names
from omnieval.suite.gate import (
    SuiteGateResult,
    gate_for,
    judge_suite,
    judged,
    suite_gate_html,
    suite_gate_page,
)
from omnieval.suite.pages import suite_html, suite_page, write_report
from omnieval.suite.plan import SuitePlan, check_members, plan_suite
from omnieval.suite.report import SuiteReport, build_suite_report, report_json
from omnieval.suite.run import SuiteExecution, resumed, run_members, score_members
from omnieval.suite.store import Suite, alone_members, common_members, compared_pairs, holds_suite

__all__ = [
    "Suite",
    "SuiteExecution",
    "SuiteGateResult",
    "SuitePlan",
    "SuiteReport",
    "alone_members",
    "build_suite_report",
    "check_members",
    "common_members",
    "compared_pairs",
    "find_suite",
    "gate_for",
    "holds_suite",
    "is_suite",
    "judge_suite",
    "judged",
    "plan_suite",
    "report_json",
    "resumed",
    "run_members",
    "score_members",
    "suite_gate_html",
    "suite_gate_page",
    "suite_html",
    "suite_names",
    "suite_page",
    "write_report",
]
