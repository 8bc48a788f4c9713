"""Import the packages of the extra ``files``, or say how to install them."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from symscreen.errors import DataError

_DISTRIBUTIONS = {"python_calamine": "python-calamine"}


def import_package(name: str, what: str) -> Any:
    """Import a package of the extra ``files``.

    Parameters
    ----------
    name : str
        The name of the module.
    what : str
        What needs it, for the message, such as ``"an .xlsx file"``.

    Returns
    -------
    module

    Raises
    ------
    DataError
        If the package is not installed.

    Examples
    --------
    >>> import_package("no_such_package", "a .zst file")
    Traceback (most recent call last):
    ...
    symscreen.errors.DataError: a .zst file is read by no_such_package, which is not installed: pip install
    'symscreen[files]'
    """
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        package = _DISTRIBUTIONS.get(name, name)
        raise DataError(
            f"{what} is read by {package}, which is not installed: pip install 'symscreen[files]'"
        ) from error
