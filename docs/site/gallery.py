"""Run the notebooks, fail where a result has changed, and write the page of the gallery.

``make gallery`` runs all notebooks. What a notebook without stored outputs shows is stored. Where a stored
output differs from a new one, the notebook stays as it is, and the run ends with status 1.
``--accept NAME`` stores the new outputs of a notebook, and ``--accept all`` those of each.
"""

from __future__ import annotations

import argparse
import base64
import re
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from notebook_runs import (
    EXAMPLES,
    find_changes,
    list_names,
    read_notebook,
    run_notebook,
    start_kernel,
    write_notebook,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

DOCS = EXAMPLES.parent / "docs"
PICTURES = DOCS / "pictures" / "gallery"
_HEAD = """# Gallery

Each example is a notebook with its results. `make gallery` runs all notebooks again, and fails if a result
has changed. Each shows what the naive way gives, and says where its data come from.
"""
_LISTED = re.compile(r"^- \[([\w-]+)\]\([\w.-]+\): (.*)$", re.MULTILINE)
_SECTION = re.compile(r"^## (.*)$", re.MULTILINE)


def main(arguments: Sequence[str]) -> int:
    """Run the notebooks that are named, or all, and write the page; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("name", nargs="*", help="notebooks such as 09-pendulum; by default all")
    parser.add_argument(
        "--accept", default="", help="names, with commas, whose new results are stored; or all"
    )
    parser.add_argument("--page", action="store_true", help="write the page alone, and run nothing")
    options = parser.parse_args(arguments)
    accepted = options.accept.split(",")
    failed = False
    with TemporaryDirectory() as folder:
        for name in [] if options.page else options.name or list_names():
            changes = _renew(name, Path(folder), is_accepted=name in accepted or "all" in accepted)
            failed |= bool(changes)
            print("\n  ".join([f"{name}: {'changed' if changes else 'as stored'}", *changes]), flush=True)
    write_page()
    return int(failed)


def _renew(name: str, folder: Path, *, is_accepted: bool) -> list[str]:
    """Run a notebook; store new or accepted outputs, else list what has changed."""
    stored, fresh = read_notebook(name), read_notebook(name)
    work = folder / name
    work.mkdir()
    with start_kernel(folder) as kernel:
        run_notebook(fresh, kernel, work)
    is_new = all(not cell.get("outputs") for cell in stored.cells)
    changes = [] if is_new else find_changes(stored, fresh)
    if is_new or (changes and is_accepted):
        write_notebook(name, fresh)
        return []
    return changes


def write_page() -> None:
    """Write the page and the pictures from the stored notebooks."""
    PICTURES.mkdir(parents=True, exist_ok=True)
    for old in PICTURES.glob("*.png"):
        old.unlink()
    for name, _ in list_cards():
        (PICTURES / f"{name}.png").write_bytes(take_picture(read_notebook(name)))
    (DOCS / "gallery.md").write_text(make_page(), encoding="utf-8")


def list_cards() -> list[tuple[str, str]]:
    """List the worked examples with their sentences, as examples/README.md has them."""
    return _LISTED.findall(_split_list()["Worked examples"])


def make_page() -> str:
    """Return the page: a card for each worked example, then the list of lessons."""
    cards = "\n".join(_make_card(name, sentence) for name, sentence in list_cards())
    lessons = "\n".join(
        f"- [{read_title(name)}](../examples/{name}.ipynb): {sentence}"
        for name, sentence in _LISTED.findall(_split_list()["Lessons"])
    )
    return f'{_HEAD}\n<div class="grid cards" markdown>\n\n{cards}\n</div>\n\n## Lessons\n\n{lessons}\n'


def _make_card(name: str, sentence: str) -> str:
    title, link = read_title(name), f"../examples/{name}.ipynb"
    text = sentence[0].upper() + sentence[1:]
    return f"-   ![{title}](pictures/gallery/{name}.png)\n\n    **[{title}]({link})**\n\n    {text}\n"


def _split_list() -> dict[str, str]:
    """Return the sections of examples/README.md by their headings."""
    _, *pieces = _SECTION.split((EXAMPLES / "README.md").read_text(encoding="utf-8"))
    return dict(zip(pieces[::2], pieces[1::2], strict=True))


def read_title(name: str) -> str:
    """Return the heading of a notebook."""
    return str(read_notebook(name).cells[0].source).splitlines()[0].removeprefix("# ")


def take_picture(notebook: Any) -> bytes:
    """Return the picture of a notebook: that of the cell called picture, or else the last."""
    pictures = dict(_iterate_pictures(notebook))
    return base64.b64decode(pictures.get("picture") or list(pictures.values())[-1])


def _iterate_pictures(notebook: Any) -> Iterator[tuple[str, str]]:
    """Yield the pictures with the names of their cells."""
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            if "image/png" in output.get("data", {}):
                yield cell.id, output.data["image/png"]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
