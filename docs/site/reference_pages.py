"""Write the pages of the reference from the public names of modules."""

from __future__ import annotations

from importlib import import_module
from types import FunctionType, ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

# The modules of each page. Of some modules, users need only the names behind the colon.
REFERENCE = {
    "symscreen": ("symscreen",),
    "data": ("symscreen.datasets", "symscreen.data:Dataset,read_dataset", "symscreen.units"),
    "screeners": ("symscreen.screeners",),
    "formulas": (
        *("symscreen.expressions.tree", "symscreen.expressions.traversal"),
        *("symscreen.expressions.printing", "symscreen.expressions.sympy_conversion", "symscreen.grammar"),
    ),
    "dynamics": ("symscreen.dynamics",),
    "backends": ("symscreen.backends:Backend,ReducingBackend,make_backend",),
    "export": ("symscreen.export",),
    "evaluation": ("symscreen.evaluation",),
    "ranking": (
        *("symscreen.label_ranking", "symscreen.label_ranking.generators", "symscreen.label_ranking.theory"),
    ),
    "multistage": (
        *("symscreen.multistage", "symscreen.multistage.baselines", "symscreen.multistage.article_sharing"),
    ),
    "trees": ("symscreen.trees",),
    "errors": ("symscreen.errors", "symscreen.messages"),
}

_MAIN_FUNCTIONS = ("screen", "fit", "screen_inputs", "discover_ode", "plan", "why")


def write_reference_page(name: str) -> str:
    """Write a page: what each module is for, and each public class, function and constant at its home."""
    return "\n".join(map(_write_module, REFERENCE[name]))


def list_public_objects() -> Iterator[tuple[str, Any]]:
    """Yield the name and the value of each object that the reference has."""
    for modules in REFERENCE.values():
        for entry in modules:
            module, names = _read_entry(entry)
            yield from ((f"{module.__name__}.{name}", getattr(module, name)) for name in names)


def _write_module(entry: str) -> str:
    """Write the section of a module. An object that has a section elsewhere is left out."""
    module, names = _read_entry(entry)
    below = [
        _read_entry(own)
        for modules in REFERENCE.values()
        for own in modules
        if own.startswith(f"{module.__name__}.")
    ]
    elsewhere = {id(getattr(other, name)) for other, others in below for name in others}
    members = {
        name: getattr(module, name) for name in sorted(names, key=lambda name: _get_order(module, name))
    }
    parts = [f"# {module.__name__}\n\n{module.__doc__}\n"]
    parts += [
        f"\n::: {member.__module__}.{member.__name__}\n"
        for member in members.values()
        if isinstance(member, FunctionType | type) and id(member) not in elsewhere
    ]
    return "".join(parts)


def _get_order(module: ModuleType, name: str) -> tuple[int, bool]:
    """Return what orders the objects of a module: the main functions, the other functions, then classes."""
    place = _MAIN_FUNCTIONS.index(name) if name in _MAIN_FUNCTIONS else len(_MAIN_FUNCTIONS)
    return place, isinstance(getattr(module, name), type)


def _read_entry(entry: str) -> tuple[ModuleType, list[str]]:
    """Return the module of an entry of `REFERENCE`, and its public names."""
    path, _, given = entry.partition(":")
    module = import_module(path)
    names = given.split(",") if given else getattr(module, "__all__", None)
    if names is None:  # what the module defines itself
        names = [
            name
            for name, value in vars(module).items()
            if getattr(value, "__module__", None) == path or name.isupper()
        ]
    return module, [name for name in names if not name.startswith("_")]
