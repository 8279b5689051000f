"""The browser that tests look through: it runs pages, and notices what must not happen in them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.integration.browser import OpenPage, chromium_path
from tests.integration.looks import DESKTOP, PHONE, scrolls_sideways

pytestmark = pytest.mark.browser


def test_a_page_is_shown_at_the_width_asked_for(tmp_path: Path, open_page: OpenPage) -> None:
    place = tmp_path / "page.html"
    place.write_text("<meta name=viewport content='width=device-width'><p style='width:900px'>wide</p>")
    assert scrolls_sideways(open_page(place.as_uri(), width=PHONE))
    assert not scrolls_sideways(open_page(place.as_uri(), width=DESKTOP))


def test_a_missing_browser_is_named_with_the_next_step(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMNIEVAL_CHROMIUM", "/nowhere/chromium")
    with pytest.raises(pytest.fail.Exception, match="apt-get install chromium"):
        chromium_path()
