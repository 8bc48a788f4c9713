"""Write a notebook with its stored outputs as a page of the site."""

from __future__ import annotations

import base64
import json
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

_STYLE = re.compile(r"<style.*?</style>\s*", re.DOTALL)
_BETWEEN_TAGS = re.compile(r">\s*\n\s*<")  # an empty line would end a block of HTML


def write_notebook_page(path: Path) -> tuple[str, dict[str, bytes]]:
    """Return the Markdown of a notebook, and its pictures by their file names."""
    pieces: list[str] = []
    pictures: dict[str, bytes] = {}
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            pieces.append(source)
            continue
        pieces.append(f"```python\n{source}\n```")
        for number, output in enumerate(cell["outputs"]):
            name = f"{path.stem}-{cell['id']}-{number}.png"
            pieces.append(_write_output(output, name, pictures))
    return "\n\n".join(pieces) + "\n", pictures


def _write_output(output: dict[str, Any], name: str, pictures: dict[str, bytes]) -> str:
    """Write an output as a picture, as a table, or as text; a picture is added to the others."""
    data = output.get("data", {})
    if "image/png" in data:
        pictures[name] = base64.b64decode("".join(data["image/png"]))
        return f"![What the cell shows]({name})"
    if "text/html" in data:
        html = _STYLE.sub("", "".join(data["text/html"])).strip()
        return _BETWEEN_TAGS.sub("><", html)
    return f"```text\n{''.join(data.get('text/plain') or output['text']).rstrip()}\n```"
