"""Every command that a page or a notebook shows is one that the command line reads."""

from __future__ import annotations

import contextlib
import json
import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import click
import pytest

from symscreen.cli.command import VERBS, command
from symscreen.errors import SymscreenError

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"), *ROOT.glob("*/README.md")])
NOTEBOOKS = sorted((ROOT / "examples").glob("*.ipynb"))
_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
_INLINE = re.compile(r"`(symscreen [^`\n]*)`")


def _read(path: Path) -> str:
    """Read a page; of a notebook, the cells of text."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".md":
        return text
    cells = json.loads(text)["cells"]
    return "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")


def list_commands(page: str) -> Iterator[list[str]]:
    """Yield the words of each command in the blocks of a page."""
    for language, block in _BLOCK.findall(page):
        for line in block.replace("\\\n", " ").splitlines():
            for part in re.split(r"&&|\|(?= )|;", line.removeprefix("$ ")):
                words = _split(part, comments=language != "text")
                if words[:1] == ["symscreen"] and (language != "text" or line.startswith("$ ")):
                    yield words[1:]


def list_mentions(page: str) -> Iterator[list[str]]:
    """Yield the words of each command that the text of a page mentions, such as `symscreen fit --snap`."""
    for quoted in _INLINE.findall(_BLOCK.sub("", page)):
        yield _split(quoted, comments=False)[1:]


def _split(text: str, *, comments: bool) -> list[str]:
    """Split a command like a shell; what is no command, such as output, has no words."""
    try:
        words = shlex.split(text, comments=comments)
    except ValueError:
        return []
    return words[: next((place for place, word in enumerate(words) if word in {">", "2>", "<"}), None)]


def read_command(words: list[str]) -> None:
    """Read a command without running it; raise an error if the command line would refuse it."""
    if words and words[0] in VERBS and "…" not in words:
        verb = command.get_command(click.Context(command), words[0])
        with contextlib.suppress(click.exceptions.Exit):  # of --help
            verb.make_context(words[0], words[1:])
    else:
        check_names(words)


def check_names(words: list[str]) -> None:
    """Raise `click.NoSuchOption` if there is no such verb, or if the verb has no such option."""
    if not words or words[0].isupper() or Path(words[0]).suffix:  # any command, or a table alone
        return
    if words[0] in VERBS:
        verb = command.get_command(click.Context(command), words[0])
        known = {name for parameter in verb.get_params(click.Context(verb)) for name in parameter.opts}
    else:
        known = {"--help", "--version"}
        words = ["", *words]
    for word in words[1:]:
        if word.partition("=")[0].startswith("-") and word.partition("=")[0] not in known and word != "-":
            raise click.NoSuchOption(word)
    if not words[0] and not words[1].startswith("-"):
        raise click.NoSuchOption(words[1])


@pytest.mark.parametrize("path", [*PAGES, *NOTEBOOKS], ids=lambda path: str(path.relative_to(ROOT)))
def test_each_command_of_a_page_is_one_that_the_command_line_reads(path):
    page, refused = _read(path), []
    found = [(read_command, words) for words in list_commands(page)]
    found += [(check_names, words) for words in list_mentions(page)]
    for check, words in found:
        try:
            check(words)
        except (click.ClickException, SymscreenError) as error:
            refused.append(f"{shlex.join(words)}: {error}")
    assert refused == []


def test_commands_are_found_in_blocks_and_in_the_text():
    block = "symscreen plan a.csv \\\n    --layers ub  # counts\ncat a.csv | symscreen screen -\n"
    page = f"As `symscreen fit --snap` does.\n\n```sh\n{block}```\n"
    assert list(list_commands(page)) == [["plan", "a.csv", "--layers", "ub"], ["screen", "-"]]
    assert list(list_mentions(page)) == [["fit", "--snap"]]


@pytest.mark.parametrize(
    "words", [["screem", "a"], ["fit", "a.csv", "--layer"], ["fit", "a.csv", "--effort", "much"], ["fit"]]
)
def test_commands_that_the_command_line_refuses_are_found(words):
    with pytest.raises((click.ClickException, SymscreenError)):
        read_command(words)


@pytest.mark.parametrize("words", [["screem"], ["fit", "--layer"]])
def test_names_that_do_not_exist_are_found(words):
    with pytest.raises(click.NoSuchOption):
        check_names(words)
