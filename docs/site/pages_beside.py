"""Bring the pages that stand beside docs/ into the site, and write the reference from each `__all__`."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File

sys.path.insert(0, str(Path(__file__).parent))  # mkdocs loads a hook by its path
from command_pages import find_missing_options, write_commands_page
from notebook_pages import write_notebook_page
from reference_pages import REFERENCE, write_reference_page

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parent.parent.parent
BESIDE = ("benchmarks/README.md", "data/README.md", "examples/README.md", "CHANGELOG.md", "CONTRIBUTING.md")
HOME = ROOT / "docs/home.md"  # the README has its own first page for the checkout
RESULTS = "benchmarks/results"
LINK = re.compile(r"(!?)\[([^\]]*)\]\((?!https?:|#|mailto:)([^)\s]+)\)")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the first page, the pages beside docs/, and the tables and pictures of benchmarks."""
    files.append(File.generated(config, "index.md", content=HOME.read_text()))
    files.append(File.generated(config, "commands.md", content=write_commands_page()))
    for name in BESIDE:
        files.append(File.generated(config, name, content=(ROOT / name).read_text()))
    for path in sorted((ROOT / "examples").glob("*.ipynb")):
        page, pictures = write_notebook_page(path)
        files.append(File.generated(config, f"examples/{path.stem}.md", content=page))
        for name, content in pictures.items():
            files.append(File.generated(config, f"examples/{name}", content=content))
    for path in sorted((ROOT / RESULTS).iterdir()):
        if path.suffix in {".md", ".png"}:
            files.append(File.generated(config, f"{RESULTS}/{path.name}", abs_src_path=str(path)))
    for name in REFERENCE:
        files.append(File.generated(config, f"reference/{name}.md", content=write_reference_page(name)))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Lead the links of a page to where the site has their targets; what it lacks stays as text."""
    del config
    source = page.file.src_uri
    home = HOME if source == "index.md" else ROOT / source
    if not home.exists() and not home.with_suffix(".ipynb").exists():
        home = ROOT / "docs" / source

    def led(link: re.Match[str]) -> str:
        target, _, anchor = link[3].partition("#")
        path = (home.parent / target).resolve()
        found = _uri(path)
        if found is None or files.get_file_from_path(found) is None:
            return link[2] if path.exists() else link[0]  # a link that leads nowhere stops the build
        up = "../" * source.count("/")
        return f"{link[1]}[{link[2]}]({up}{found}{'#' + anchor if anchor else ''})"

    return LINK.sub(led, markdown)


def on_post_page(output: str, page: Page, config: MkDocsConfig) -> str:
    """Stop the build if the page of commands lacks an option."""
    del config
    if page.file.src_uri == "commands.md" and (missing := find_missing_options(output)):
        raise PluginError(f"commands.md lacks {', '.join(missing)}")
    return output


def _uri(path: Path) -> str | None:
    """Return where the site has a file of the checkout."""
    if path == ROOT / "README.md":
        return "index.md"
    if not path.is_relative_to(ROOT):
        return None
    inside = path.relative_to(ROOT)
    if inside.suffix == ".ipynb":
        inside = inside.with_suffix(".md")
    return str(Path(*inside.parts[1:])) if inside.parts[0] == "docs" else str(inside)
