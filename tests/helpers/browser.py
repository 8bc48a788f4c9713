"""Pages in Chromium: what a reader would see, and what axe-core says of their accessibility."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from helpers.requirements import require

if TYPE_CHECKING:
    from collections.abc import Iterator

WIDTHS = (390, 1280, 1920)  # a phone, a notebook and a wide screen, in pixels

# Elements that reach beyond the page, and are in no box of their own that scrolls.
_OVERFLOWING = """() => {
  const width = document.documentElement.clientWidth;
  const scrolls = (box) => ["auto", "scroll"].includes(getComputedStyle(box).overflowX);
  const isBoxed = (one) => {
    for (let box = one.parentElement; box && box !== document.body; box = box.parentElement)
      if (scrolls(box)) return true;
    return false;
  };
  return [...document.querySelectorAll("body *")]
    .filter((one) => !one.parentElement.closest("svg, math"))
    .filter((one) => {
      const place = one.getBoundingClientRect();
      return place.width > 0 && (place.right > width + 1 || place.left < -1) && !isBoxed(one);
    })
    .map((one) => `${one.tagName} ${one.className} ${one.getBoundingClientRect().right}`);
}"""
# Boxes that hide what does not fit, without a way to scroll to it.
_CLIPPING = """() => [...document.querySelectorAll("body *")]
  .filter((one) => !one.closest("svg") && !one.closest("math"))
  .filter((one) => ["hidden", "clip"].includes(getComputedStyle(one).overflowX))
  .filter((one) => one.scrollWidth > one.clientWidth + 1)
  .map((one) => `${one.tagName} ${one.className}`)"""
# Boxes that scroll, and that no key can reach.
_UNREACHABLE = """() => [...document.querySelectorAll("body *")]
  .filter((one) => ["auto", "scroll"].includes(getComputedStyle(one).overflowX))
  .filter((one) => one.scrollWidth > one.clientWidth && one.tabIndex < 0)
  .map((one) => `${one.tagName} ${one.className}`)"""


@dataclass
class BrowserPage:
    """A page in the browser, and what it says to the console."""

    page: Any
    console: list[str] = field(default_factory=list)

    def resize(self, width: int) -> None:
        """Set the width in pixels, and let the page adapt."""
        self.page.set_viewport_size({"width": width, "height": 900})
        self.page.evaluate("() => new Promise((done) => requestAnimationFrame(() => setTimeout(done)))")

    def find_faults(self) -> list[str]:
        """Return what is hidden, cut off or out of reach at this width."""
        scrolls = "() => document.documentElement.scrollWidth > document.documentElement.clientWidth"
        faults = ["the page scrolls sideways"] if self.page.evaluate(scrolls) else []
        checks = {"beyond the page": _OVERFLOWING, "clipped": _CLIPPING, "out of reach": _UNREACHABLE}
        return faults + [
            f"{what}: {one}" for what, code in checks.items() for one in self.page.evaluate(code)
        ]

    def find_violations(self) -> list[str]:
        """Return the rules of axe-core that the page violates, each with the first element."""
        code = Path(require("axe").__file__).with_name("axe.min.js").read_text(encoding="utf-8")
        self.page.evaluate(code)
        found = self.page.evaluate("() => axe.run(document, {resultTypes: ['violations']})")["violations"]
        return [f"{one['id']}: {one['nodes'][0]['html']}" for one in found]


@contextmanager
def open_browser() -> Iterator[Any]:
    """Start Chromium; yield a function that opens a page."""
    require("playwright")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=require("chromium"), args=["--no-sandbox"])

        def open_page(path: Path, *, width: int = 1280, scheme: str = "light") -> BrowserPage:
            # axe-core is no script of the page's own, which its policy would refuse
            context = browser.new_context(
                viewport={"width": width, "height": 900}, color_scheme=scheme, bypass_csp=True
            )
            opened = BrowserPage(context.new_page())
            opened.page.on("console", lambda message: opened.console.append(message.text))
            opened.page.on("pageerror", lambda error: opened.console.append(str(error)))
            opened.page.goto(path.as_uri())
            return opened

        yield open_page
        browser.close()
