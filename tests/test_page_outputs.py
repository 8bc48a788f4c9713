"""Every page of the documentation shows an example with its output, and running it prints just that."""

from __future__ import annotations

from pathlib import Path

import pytest
from helpers.page_examples import is_shown, list_shown_examples, print_examples, update_shown
from helpers.requirements import needs

DOCS = Path(__file__).resolve().parent.parent / "docs"
PAGES = sorted(path.name for path in DOCS.glob("*.md"))
# It shows the pictures of notebooks, whose outputs tests/test_examples.py compares.
WITHOUT_EXAMPLE = {"gallery.md"}
NEEDED = {"cluster.md": "distributed", "report.md": "matplotlib", "units.md": "pint"}

PAGE = """
```python
x = 1
```

```python
print(x + 1)
```

```text
2
```

```console
$ symscreen operators ablation
…
default layers: bu
…
```

```python
raise SystemExit
```
"""


def _read(name):
    return list_shown_examples((DOCS / name).read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", PAGES)
def test_each_page_has_an_example_with_its_output(name):
    assert any(example.shown for example in _read(name)) is (name not in WITHOUT_EXAMPLE)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=needs(NEEDED[name]) if name in NEEDED else [])
        for name in PAGES
        if name not in WITHOUT_EXAMPLE
    ],
)
def test_the_examples_of_a_page_print_what_it_shows(name, tmp_path):
    examples = _read(name)
    for example, printed in zip(examples, print_examples(examples, tmp_path), strict=True):
        assert example.shown is None or is_shown(example.shown, printed), printed


def test_examples_share_their_names_and_what_follows_the_last_output_is_left_out(tmp_path):
    examples = list_shown_examples(PAGE)
    assert [example.code for example in examples] == ["x = 1\n", "print(x + 1)\n", ""]
    assert [example.shown is None for example in examples] == [True, False, False]
    printed = print_examples(examples, tmp_path)
    assert printed[:2] == ["", "2\n"]
    assert printed[2].startswith("$ symscreen operators ablation\nablation: ")
    assert is_shown(examples[2].shown, printed[2])


def test_a_command_that_fails_is_no_example(tmp_path, capsys):
    failing = list_shown_examples("```console\n$ symscreen operators nowhere\n```\n")
    with pytest.raises(AssertionError, match="ended with 2"):
        print_examples(failing, tmp_path)
    assert "nowhere" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("shown", "agree"),
    [
        ("one\ntwo\nthree\n", True),
        ("one\n…\n", True),
        ("…\ntwo\n…\n", True),
        ("one\n…\nthree\n", True),
        ("one\n", False),
        ("two\n…\n", False),
        ("one\ntwo\nthree\nfour\n", False),
        ("on.\n…\n", False),
    ],
)
def test_an_ellipsis_stands_for_any_lines(shown, agree):
    assert is_shown(shown, "one\ntwo\nthree\n") is agree


@pytest.mark.parametrize(
    ("shown", "updated"),
    [("one\n…\n", "one\n…\n"), ("1\n2\n…\n", "one\ntwo\n…\n"), ("1\n", "one\ntwo\nthree\n")],
)
def test_an_output_that_changed_is_written_up_to_its_ellipsis(shown, updated):
    assert update_shown(shown, "one\ntwo\nthree\n") == updated
