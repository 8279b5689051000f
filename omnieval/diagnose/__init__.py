"""Why is a number low? The same few questions, asked with more and more media: which rung breaks first?"""

from omnieval.diagnose.breaks import Break
from omnieval.diagnose.findings import Diagnosis, RungRow
from omnieval.diagnose.pages import diagnosis_html, diagnosis_page
from omnieval.diagnose.run import LadderExecution
from omnieval.diagnose.rungs import DEFAULT_LIMIT, Ladder, Rung, plan_ladder
from omnieval.diagnose.store import diagnosis_json, holds_diagnosis, read_diagnosis
from omnieval.diagnose.whole import diagnose

__all__ = [
    "DEFAULT_LIMIT",
    "Break",
    "Diagnosis",
    "Ladder",
    "LadderExecution",
    "Rung",
    "RungRow",
    "diagnose",
    "diagnosis_html",
    "diagnosis_json",
    "diagnosis_page",
    "holds_diagnosis",
    "plan_ladder",
    "read_diagnosis",
]
