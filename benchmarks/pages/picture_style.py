"""The look of the pictures in pages: colours for light and dark, a digest, and the same bytes each time."""

from __future__ import annotations

import json
import re
from hashlib import sha256
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.figure import Figure

    Shown = list[Any]

INK, MUTED, FAINT, OURS, SECOND = "#1f2937", "#6b7280", "#d8dce3", "#1d5fd1", "#b45309"
_DARK = {INK: "#e6eaf0", MUTED: "#a3acb9", FAINT: "#3a4352", OURS: "#6ea8fe", SECOND: "#f0b255"}
_NAMES = {INK: "ink", MUTED: "muted", FAINT: "faint", OURS: "ours", SECOND: "second"}


def compute_digest(shown: Shown) -> str:
    """Compute the digest of what a picture shows."""
    return sha256(json.dumps(shown).encode()).hexdigest()[:16]


def save_picture(figure: Figure, shown: Shown, path: Path) -> None:
    """Write a picture whose colours follow the reader's preference, with the same bytes each time."""
    import matplotlib as mpl

    settings = {"svg.hashsalt": path.stem, "svg.fonttype": "path"}
    metadata = {"Date": None, "Creator": "symscreen", "Description": f"data {compute_digest(shown)}"}
    with mpl.rc_context(settings):
        figure.savefig(path, format="svg", transparent=True, metadata=metadata)
    text = path.read_text(encoding="utf-8")
    for colour, name in _NAMES.items():
        text = text.replace(colour, f"var(--{name})")
    light = "".join(f"--{name}:{colour};" for colour, name in _NAMES.items())
    dark = "".join(f"--{_NAMES[colour]}:{replaced};" for colour, replaced in _DARK.items())
    style = f"<style>svg{{{light}}}@media (prefers-color-scheme: dark){{svg{{{dark}}}}}</style>"
    text = re.sub(r"(<svg [^>]*>)", rf"\1{style}", text, count=1)
    path.write_text("\n".join(line.rstrip() for line in text.splitlines()) + "\n", encoding="utf-8")


def make_figure(width: float, height: float, **options: Any) -> tuple[Figure, Any]:
    """Make a figure in inches, with its axes in the colours of the pictures."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    colours = dict.fromkeys(
        ("text.color", "axes.labelcolor", "xtick.color", "ytick.color", "axes.edgecolor", "axes.titlecolor"),
        INK,
    )
    with mpl.rc_context(
        {
            **colours,
            "font.size": 10.5,
            "legend.framealpha": 0,
            "axes.spines.top": False,
            "axes.spines.right": False,
        }
    ):
        figure = Figure(figsize=(width, height), layout="constrained")
        axes = figure.subplots(**options)
    return figure, axes
