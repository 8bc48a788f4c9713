"""What other packages bring, found by entry points: told by name and origin, loaded when it is asked for."""

from __future__ import annotations

from dataclasses import dataclass, replace
from importlib import metadata
from typing import TYPE_CHECKING, Any, Literal

from symscreen.errors import OptionError, escape_control_chars

if TYPE_CHECKING:
    from collections.abc import Collection

    PluginKind = Literal["screener", "grammar", "backend"]

__all__ = ["Plugin", "collect_origins", "find_plugins", "get_plugin", "list_available_names"]


@dataclass(frozen=True, eq=False)
class Plugin:
    """A thing of another package.

    Parameters
    ----------
    kind : {"screener", "grammar", "backend"}
        What it is.
    name : str
        As users type it: the entry point's name.
    origin : str
        The package and its version, ``"symscreen-example 0.1"``.
    entry : importlib.metadata.EntryPoint
        Where it lies.
    clash : str
        Why its name cannot be used, with both origins; empty as a rule.
    """

    kind: PluginKind
    name: str
    origin: str
    entry_point: metadata.EntryPoint
    conflict: str = ""

    def load(self) -> Any:
        """Import it.

        Raises
        ------
        OptionError
            If its name is taken, or the import fails for whatever reason: one line with the origin.
        """
        if self.conflict:
            raise OptionError(self.conflict)
        try:
            return self.entry_point.load()
        except (Exception, SystemExit) as error:  # a package must not end the program that only lists it
            raise self.build_error(f"cannot be loaded: {type(error).__name__}: {error}") from error

    def build_error(self, reason: str) -> OptionError:
        """Return the error that says so."""
        line = escape_control_chars(" ".join(reason.split()))
        return OptionError(f"the {self.kind} {self.name!r} of {self.origin} {line}")


def find_plugins(kind: PluginKind, built_in_names: Collection[str]) -> tuple[Plugin, ...]:
    """Find what other packages bring; nothing of it is imported.

    Parameters
    ----------
    kind : {"screener", "grammar", "backend"}
        The entry points' group is ``symscreen.screeners``, and so on.
    own : collection of str
        The names of symscreen's own, which stay its own.

    Returns
    -------
    tuple of Plugin
        By name, then origin.

    Examples
    --------
    >>> [one.name for one in find_plugins("screener", ["t0"]) if one.name == "t0"]
    []
    """
    entries = metadata.entry_points(group=f"symscreen.{kind}s")
    found = [Plugin(kind, each.name, _format_origin(each), each) for each in entries]
    found.sort(key=lambda one: (one.name, one.origin))
    return tuple(_mark_conflict(one, found, built_in_names) for one in found)


def get_plugin(name: str, kind: PluginKind, built_in_names: Collection[str]) -> Plugin | None:
    """Find one of another package by name, or nothing.

    Parameters
    ----------
    name : str
        As a user typed it.
    kind, own
        As of `plugins`.

    Returns
    -------
    Plugin or None
        Where two packages bring one, either tells of the clash when it is loaded.
    """
    return (
        next((one for one in find_plugins(kind, built_in_names) if one.name == name), None)
        if name not in built_in_names
        else None
    )


def collect_origins(
    kind: PluginKind, names: Collection[str], built_in_names: Collection[str]
) -> dict[str, str]:
    """Say where what was used comes from, for the record; symscreen's own is left out.

    Parameters
    ----------
    kind, own
        As of `plugins`.
    names : collection of str
        What was used.

    Returns
    -------
    dict of str to str
        Name to package and version.

    Examples
    --------
    >>> collect_origins("screener", ["t0"], ["t0"])
    {}
    """
    others = [name for name in names if name not in built_in_names]
    return (
        {one.name: one.origin for one in find_plugins(kind, built_in_names) if one.name in others}
        if others
        else {}
    )


def list_available_names(kind: PluginKind, built_in_names: Collection[str]) -> tuple[str, ...]:
    """Name all that there are, symscreen's own first; for near matches in messages."""
    return (*built_in_names, *(one.name for one in find_plugins(kind, built_in_names) if not one.conflict))


def _format_origin(entry: metadata.EntryPoint) -> str:
    if entry.dist is None:
        return "an unknown package"
    return escape_control_chars(f"{entry.dist.name} {entry.dist.version}")


def _mark_conflict(plugin: Plugin, all_plugins: list[Plugin], built_in_names: Collection[str]) -> Plugin:
    """Say of a plug-in whether its name is taken; symscreen's own names cannot be taken over."""
    others = [one.origin for one in all_plugins if one.name == plugin.name and one is not plugin]
    if plugin.name in built_in_names:
        others = [f"symscreen {metadata.version('symscreen')}"]
    if not others:
        return plugin
    both = " and ".join([plugin.origin, *others])
    return replace(plugin, conflict=f"the {plugin.kind} {plugin.name!r} is in {both}: uninstall one of them")
