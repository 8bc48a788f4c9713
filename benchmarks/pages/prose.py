"""Measure the prose of README, the pages of the site and the notebooks: the length of sentences.

Counted are the words of sentences in running text and lists. Code, tables, headings and pictures are left
out. A piece of code or a formula within a sentence is one word. ``--check`` exits with 1 if a page is above
the limits: a mean of 16 words, and 6 % of sentences with more than 30.
"""

from __future__ import annotations

import argparse
import json
import re
from typing import TYPE_CHECKING

from measurement import format_table
from pages.figures import ROOT, list_pages

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

MAX_MEAN_WORDS = 16.0
MAX_LONG_PERCENT = 6.0
_BESIDE = (
    *("CHANGELOG.md", "CODE_OF_CONDUCT.md", "CONTRIBUTING.md", "SECURITY.md"),
    *("data/README.md", "examples/README.md"),
)
_LONG_WORDS = 30
_MIN_WORDS = 3  # shorter pieces, such as a label, are not sentences
_LEFT_OUT = (
    (r"^```.*?^```", "", re.DOTALL | re.MULTILINE),  # code
    (r"<!--.*?-->", "", re.DOTALL),  # marks of figures
    (r"^(\||#).*$", "\n", re.MULTILINE),  # tables and headings
    (r"!\[[^\]]*\]\([^)]*\)", "", 0),  # pictures
    (r"\[([^\]]*)\]\([^)]*\)", r"\1", 0),  # links, whose texts are read
    (r"`[^`]*`|\$[^$]*\$", "code", 0),
    (r"^\s*(?:[-*]|\d+\.) ", "\n\n", re.MULTILINE),  # each item of a list begins anew
    (r"[*_]", "", 0),
)


def main(arguments: Sequence[str]) -> None:
    """Print the figures of each page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("page", nargs="*", help="pages such as docs/trust.md; by default all")
    parser.add_argument("--check", action="store_true", help="exit with 1 if a page is above the limits")
    options = parser.parse_args(arguments)
    pages = {path.relative_to(ROOT).as_posix(): path for path in list_texts()}
    rows, is_above = [], False
    for name in options.page or pages:
        counts = [len(sentence.split()) for sentence in split_sentences(read_text(pages[name]))]
        mean, long_percent = measure_lengths(counts)
        is_above |= mean > MAX_MEAN_WORDS or long_percent > MAX_LONG_PERCENT
        rows.append([name, len(counts), f"{mean:.1f}", f"{long_percent:.1f}"])
    print(format_table(("page", "sentences", "mean words", f"above {_LONG_WORDS} words, %"), rows))
    if options.check and is_above:
        raise SystemExit(1)


def list_texts() -> list[Path]:
    """List README, the pages of the site, the texts that a code host shows, and the notebooks."""
    notebooks = sorted((ROOT / "examples").glob("*.ipynb"))
    return [*list_pages(), *(ROOT / name for name in _BESIDE), *notebooks]


def read_text(path: Path) -> str:
    """Read a page of Markdown; of a notebook, the cells of text."""
    text = path.read_text(encoding="utf-8")
    if path.suffix != ".ipynb":
        return text
    cells = (cell for cell in json.loads(text)["cells"] if cell["cell_type"] == "markdown")
    return "\n\n".join("".join(cell["source"]) for cell in cells)


def split_sentences(page: str) -> list[str]:
    """Return the sentences of a Markdown page, without code, tables and headings."""
    for pattern, replacement, flags in _LEFT_OUT:
        page = re.sub(pattern, replacement, page, flags=flags)
    sentences = []
    for paragraph in re.split(r"\n\s*\n", page):
        text = " ".join(word for word in paragraph.split() if re.search(r"\w", word))
        sentences += re.split(r"(?<=[.!?])\s+(?=[A-Z\"(]|code)", text)
    return [sentence for sentence in sentences if len(sentence.split()) >= _MIN_WORDS]


def measure_lengths(counts: Sequence[int]) -> tuple[float, float]:
    """Return the mean number of words, and the percentage of sentences with more than 30."""
    if not counts:
        return 0.0, 0.0
    return sum(counts) / len(counts), 100 * sum(count > _LONG_WORDS for count in counts) / len(counts)
