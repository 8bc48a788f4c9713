"""Sentences of the pages are short, and the script that measures them counts what readers read."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="module")
def prose():
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(ROOT / "benchmarks")
        yield importlib.import_module("pages.prose")


def test_code_tables_headings_and_pictures_are_no_sentences(prose):
    page = """# A heading of four words

A first sentence has `x + y` and [a link](page.md) in it. It
goes on over two lines<!--=million.t0-->. Is this one?

![A picture with words](a.svg)

| a | table row with words |

- An item is a sentence.
- Another item has a formula, $a + b = c$.

```python
print("Not. A. Sentence.")
```
"""
    assert prose.split_sentences(page) == [
        "A first sentence has code and a link in it.",
        "It goes on over two lines.",
        "Is this one?",
        "An item is a sentence.",
        "Another item has a formula, code.",
    ]


def test_long_sentences_are_counted(prose):
    assert prose.measure_lengths([10, 31, 19]) == (20.0, pytest.approx(100 / 3))
    assert prose.measure_lengths([]) == (0.0, 0.0)


def test_every_page_and_notebook_has_short_sentences(prose):
    for path in prose.list_texts():
        counts = [len(sentence.split()) for sentence in prose.split_sentences(prose.read_text(path))]
        mean, long_percent = prose.measure_lengths(counts)
        assert mean <= prose.MAX_MEAN_WORDS, path.name
        assert long_percent <= prose.MAX_LONG_PERCENT, path.name
