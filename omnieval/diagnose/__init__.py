"""Why is a number low? The same few questions, asked with more and more media: which rung breaks first?"""

from omnieval.diagnose.findings import Break, Diagnosis, RungRow, build_diagnosis
from omnieval.diagnose.pages import diagnosis_html, diagnosis_json, diagnosis_page, write_diagnosis
from omnieval.diagnose.run import LadderExecution, run_ladder
from omnieval.diagnose.rungs import DEFAULT_LIMIT, Ladder, Rung, plan_ladder

__all__ = [
    "DEFAULT_LIMIT",
    "Break",
    "Diagnosis",
    "Ladder",
    "LadderExecution",
    "Rung",
    "RungRow",
    "build_diagnosis",
    "diagnosis_html",
    "diagnosis_json",
    "diagnosis_page",
    "plan_ladder",
    "run_ladder",
    "write_diagnosis",
]
