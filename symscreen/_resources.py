"""Location of the shipped grammars and tables, in an installed package or in a checkout."""

from __future__ import annotations

from pathlib import Path


def find_resource_folder(name: str) -> Path:
    """Find a folder that ships with symscreen.

    Parameters
    ----------
    name : {"operators", "data"}
        The folder's name at the top of the checkout.

    Returns
    -------
    Path
        ``symscreen/_NAME`` of an installed wheel, or the folder of the checkout in an editable install.

    Raises
    ------
    FileNotFoundError
        If neither exists: the installation is damaged.

    Examples
    --------
    >>> (find_resource_folder("operators") / "basic.toml").exists()
    True
    """
    package = Path(__file__).resolve().parent
    for folder in (package / f"_{name}", package.parent / name):
        if folder.is_dir():
            return folder
    raise FileNotFoundError(
        f"symscreen's own folder {name!r} is missing from {package}; install symscreen again"
    )
