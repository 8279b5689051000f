"""How a page looks, measured in the browser: its width, contrast, and the way of the Tab key."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from playwright.sync_api import Page

PHONE, DESKTOP = 360, 1280
# A4 less the margins of the print style, in CSS pixels.
PAPER = 688
Scheme = Literal["light", "dark"]
SCHEMES: tuple[Scheme, ...] = ("light", "dark")


def scrolls_sideways(page: Page) -> bool:
    """Whether the page is wider than its window."""
    wider: bool = page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth")
    return wider


def focusable_by_tab(page: Page) -> list[str]:
    """What the Tab key reaches in turn, from the page's title on, as "ELEMENT name"; a player's own buttons are
    the player."""
    page.locator("h1").click()
    reached: list[str] = []
    for _ in range(400):
        page.keyboard.press("Tab")
        at: str = page.evaluate(_FOCUSED)
        if at.startswith("BODY") or (at in reached and at != reached[-1]):
            break
        if at not in reached:
            reached.append(at)
    return reached


_FOCUSED = """() => {
  const e = document.activeElement, label = e.labels?.[0]?.firstChild?.textContent;
  return `${e.tagName} ${e.getAttribute("aria-label") ?? label ?? e.innerText ?? ""}`.trim();
}"""


def missed_by_tab(page: Page) -> list[str]:
    """What can be used by a pointer and is not reached by the Tab key, is reached out of its order, or does not
    show that it is where the keys go."""
    names: list[str] = page.evaluate(_USABLE)
    reached: list[int] = []
    missed = []
    for _ in range(len(names) + 200):  # players and scrolling texts have stops of their own
        page.keyboard.press("Tab")
        at, seen = page.evaluate(_WHERE)
        if at is None:
            break
        if at >= 0 and at not in reached[-1:]:
            reached.append(at)
            if not seen:
                missed.append(f"no outline: {names[at]}")
    if reached != sorted(set(reached)):
        missed.append(f"out of order: {[names[at] for at in reached]}")
    return missed + [f"not reached: {name}" for at, name in enumerate(names) if at not in reached]


_USABLE = """() => {
  window.usable = [...document.querySelectorAll(
    "a[href], button, input, select, summary, audio, video, [tabindex='0']")].filter((e) => e.checkVisibility());
  return window.usable.map((e) => `${e.tagName} ${e.getAttribute("aria-label") ?? e.innerText}`.slice(0, 60));
}"""
_WHERE = """() => {
  const e = document.activeElement;
  return [e === document.body ? null : window.usable.indexOf(e), getComputedStyle(e).outlineStyle !== "none"];
}"""


def pale_texts(page: Page) -> list[str]:
    """Texts with less contrast than WCAG 2.2, 1.4.3 (AA) asks for: 4.5, or 3 where they are large."""
    found: list[str] = page.evaluate(_PALE)
    return found


# Colours as they are shown: those of the ancestors laid over each other, from the page's own ground.
_PALE = """() => {
  const read = (css) => { const v = css.match(/[\\d.]+/g).map(Number); return [v[0], v[1], v[2], v[3] ?? 1]; };
  const over = (top, under) => [0, 1, 2].map((i) => top[i] * top[3] + under[i] * (1 - top[3])).concat(1);
  const light = (c) => {
    const [r, g, b] = c.slice(0, 3).map((v) => v / 255)
      .map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ground = (e) => {
    const above = [];
    for (let at = e; at; at = at.parentElement) above.push(read(getComputedStyle(at).backgroundColor));
    return above.reduceRight((under, top) => over(top, under), [255, 255, 255, 1]);
  };
  const pale = [], walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node; (node = walker.nextNode());) {
    const e = node.parentElement, style = getComputedStyle(e);
    if (!node.data.trim() || !e.checkVisibility() || e.closest("caption, script, style")) continue;
    const under = ground(e), [a, b] = [light(over(read(style.color), under)), light(under)];
    const size = parseFloat(style.fontSize), large = size >= 24 || (size >= 18.66 && style.fontWeight >= 700);
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < (large ? 3 : 4.5)) pale.push(`${ratio.toFixed(2)}: ${e.tagName} ${node.data.trim().slice(0, 40)}`);
  }
  return pale;
}"""
