"""Fixtures of whole-process tests."""

from tests.integration.browser import chromium, open_page

__all__ = ["chromium", "open_page"]
