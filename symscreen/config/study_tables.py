"""Tables of a study file: options of the groups Data and Run hold for each step, others for one step.

A study runs steps, a screen and a fit, on one table.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from symscreen.config.fields import find_group, list_options
from symscreen.config.fit_options import FitOptions
from symscreen.config.screen_options import ScreenOptions

if TYPE_CHECKING:
    from dataclasses import Field

    Step = Literal["screen", "fit"]


STEPS: tuple[Step, ...] = ("screen", "fit")  # steps of a study in the order in which they run
_SHARED_TABLES = {"Data": "data", "Run": "run"}  # by group of options: the table that both steps share
# options that no file may give, because they reach beyond the process or say what the caller wants to see
_CALLER_OPTIONS = ("quiet", "backend", "scheduler", "checkpoint")

STEP_FIELDS: dict[Step, dict[str, Field[Any]]] = {
    "screen": {each.name: each for each in list_options(ScreenOptions, verb="screen")},
    "fit": {each.name: each for each in list_options(FitOptions, verb="fit")},
}
STUDY_FIELDS = {  # all options of a study; where both steps have one, as the screen defines it
    name: each
    for name, each in (STEP_FIELDS["screen"] | STEP_FIELDS["fit"] | STEP_FIELDS["screen"]).items()
    if name not in _CALLER_OPTIONS
}


def find_tables(name: str) -> tuple[str, ...]:
    """Return the tables of a study that may contain an option.

    Examples
    --------
    >>> find_tables("target"), find_tables("jobs"), find_tables("layers"), find_tables("effort")
    (('data',), ('run',), ('screen', 'fit'), ('fit',))
    """
    shared = _SHARED_TABLES.get(find_group(FitOptions, name))
    return tuple(step for step in STEPS if name in STEP_FIELDS[step]) if shared is None else (shared,)


def list_table_fields(table: str) -> dict[str, Field[Any]]:
    """Return the options that a table of a study may contain, by name.

    Examples
    --------
    >>> list(list_table_fields("run"))[:2], "layers" in list_table_fields("data")
    (['max_ram', 'jobs'], False)
    """
    fields = STUDY_FIELDS | (STEP_FIELDS["fit"] if table == "fit" else {})
    return {name: fields[name] for name in STUDY_FIELDS if table in find_tables(name)}
