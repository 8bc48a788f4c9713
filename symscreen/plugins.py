"""Plug-ins of other packages, found by entry points and imported when they are used."""

from __future__ import annotations

from dataclasses import dataclass, replace
from importlib import metadata
from typing import TYPE_CHECKING, Any, Literal

from symscreen.errors import OptionError
from symscreen.messages import escape_control_chars

if TYPE_CHECKING:
    from collections.abc import Collection

    PluginKind = Literal["screener", "grammar", "backend"]


@dataclass(frozen=True, eq=False)
class Plugin:
    """A screener, grammar or backend of another package.

    Parameters
    ----------
    kind : {"screener", "grammar", "backend"}
        The kind of plug-in.
    name : str
        The name of the entry point, as users type it.
    origin : str
        The package and its version, such as ``"symscreen-example 0.1"``.
    entry_point : importlib.metadata.EntryPoint
        The entry point.
    conflict : str
        Why the name cannot be used, with both origins; empty if it can.
    """

    kind: PluginKind
    name: str
    origin: str
    entry_point: metadata.EntryPoint
    conflict: str = ""

    def load(self) -> Any:
        """Import the plug-in.

        Raises
        ------
        OptionError
            If its name is taken or the import fails; the message is one line with the origin.
        """
        if self.conflict:
            raise OptionError(self.conflict)
        try:
            return self.entry_point.load()
        except (Exception, SystemExit) as error:  # listing a package must not end the program
            raise self.build_error(f"cannot be loaded: {type(error).__name__}: {error}") from error

    def build_error(self, reason: str) -> OptionError:
        """Build an error with the kind, name and origin of the plug-in."""
        line = escape_control_chars(" ".join(reason.split()))
        return OptionError(f"the {self.kind} {self.name!r} of {self.origin} {line}")


def find_plugins(kind: PluginKind, built_in_names: Collection[str]) -> tuple[Plugin, ...]:
    """Find the plug-ins of other packages without importing them.

    Parameters
    ----------
    kind : {"screener", "grammar", "backend"}
        The kind. The group of the entry points is ``symscreen.screeners`` for screeners, and so on.
    built_in_names : collection of str
        The names of symscreen itself, which plug-ins cannot replace.

    Returns
    -------
    tuple of Plugin
        Sorted by name, then origin.

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
    """Find a plug-in by name.

    Parameters
    ----------
    name : str
        The name, as a user typed it.
    kind, built_in_names
        See `find_plugins`.

    Returns
    -------
    Plugin or None
        None if there is none. If two packages bring one of this name, loading it raises an error.
    """
    return (
        next((one for one in find_plugins(kind, built_in_names) if one.name == name), None)
        if name not in built_in_names
        else None
    )


def collect_origins(
    kind: PluginKind, names: Collection[str], built_in_names: Collection[str]
) -> dict[str, str]:
    """Return the origins of the plug-ins that were used, for the record.

    Parameters
    ----------
    kind, built_in_names
        See `find_plugins`.
    names : collection of str
        Names of the screeners, grammars or backends that were used.

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
    """List all usable names, those of symscreen first."""
    return (*built_in_names, *(one.name for one in find_plugins(kind, built_in_names) if not one.conflict))


def _format_origin(entry: metadata.EntryPoint) -> str:
    if entry.dist is None:
        return "an unknown package"
    return escape_control_chars(f"{entry.dist.name} {entry.dist.version}")


def _mark_conflict(plugin: Plugin, all_plugins: list[Plugin], built_in_names: Collection[str]) -> Plugin:
    """Set the conflict of a plug-in whose name is taken by symscreen or by another package."""
    others = [one.origin for one in all_plugins if one.name == plugin.name and one is not plugin]
    if plugin.name in built_in_names:
        others = [f"symscreen {metadata.version('symscreen')}"]
    if not others:
        return plugin
    both = " and ".join([plugin.origin, *others])
    return replace(plugin, conflict=f"the {plugin.kind} {plugin.name!r} is in {both}: uninstall one of them")
