"""Any report as the page that a reader sees."""

from __future__ import annotations

from omnieval.report.build import Report
from omnieval.report.page import Page
from omnieval.report.speech import SpeechReport
from omnieval.report.speech_tables import speech_page
from omnieval.report.tables import choice_page


def page_of(report: Report | SpeechReport) -> Page:
    """The page of a report of any kind."""
    return speech_page(report) if isinstance(report, SpeechReport) else choice_page(report)
