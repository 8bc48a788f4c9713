"""For tests of reports: a page as its elements, and names that would break one that does not escape them."""

from __future__ import annotations

from html.parser import HTMLParser

import pandas as pd

NAMES = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(2)>',
    "]]>",
    "a\u202eb",
    "\x00nul",
    "</style><b>",
    "{{ 7*7 }}",
    "שלום",
    "' onmouseover='alert(3)",
)
TARGET = "</title><script>alert(4)</script>&amp;"


def hostile_frame(rng, rows=60):
    """Return inputs of these names, and a target that needs several of them."""
    frame = pd.DataFrame({name: rng.uniform(1, 2, rows) for name in NAMES})
    frame[TARGET] = sum(frame[name] * weight for weight, name in enumerate(NAMES, start=1))
    return frame


VOID = {"meta", "input", "br", "img", "link", "hr"}


class Page(HTMLParser):
    """The elements of a page with their attributes and text; refuses tags that do not match."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: dict[str, list[str]] = {}
        self._open: list[str] = []
        self.feed(text)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self._open.append(tag)
            self.texts.setdefault(tag, []).append("")

    def handle_endtag(self, tag):
        assert self._open.pop() == tag

    def handle_data(self, data):
        for tag in set(self._open):
            self.texts[tag][-1] += data

    def all(self, tag: str) -> list[dict[str, str | None]]:
        """Return the attributes of each element of a kind."""
        return [attributes for name, attributes in self.elements if name == tag]
