"""A source as target types see it: its columns, a separate y, and the options for the target."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, get_args

import numpy as np

from symscreen._cached_property import lockfree_cached_property
from symscreen._option_values import TargetTypeChoice, parse_name_list, split_column_names
from symscreen.data.column_selection import choose_numeric_target, choose_target_column, require_columns
from symscreen.data.python_columns import convert_python_column
from symscreen.data.row_columns import MIN_ROWS
from symscreen.data.sources import read_frame
from symscreen.errors import DataError, OptionError
from symscreen.messages import hint_option, name_option, quote, suggest
from symscreen.targets.base import RowFilter
from symscreen.targets.registry import TARGET_TYPES
from symscreen.targets.stages import check_stage_names, parse_pair_weights

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from symscreen._typing import Values
    from symscreen.config.screen_options import ScreenOptions
    from symscreen.data.column_types import SourceColumn
    from symscreen.data.source_frame import SourceFrame
    from symscreen.targets import Target


@dataclass(frozen=True)
class TargetSource:
    """What describes the target of a screen, see `symscreen.data.read_dataset`.

    `data` is the source, which is read when its columns are first needed. `columns` are the columns that hold
    the target, `inputs` the names of the inputs. Both are empty until they are chosen.
    """

    data: Any
    y: Any = None
    target: str | Sequence[str] | None = None
    requested: str | None = None
    ranking: str | Sequence[str] | None = None
    stages: Sequence[str] | None = None
    stage_weight: Any = "all"
    event: str | None = None
    weights: Values | None = None
    exclude: Collection[str] = ()
    columns: Sequence[str] = ()
    inputs: Collection[str] = ()

    @lockfree_cached_property
    def frame(self) -> SourceFrame:
        """The columns of the source.

        Raises
        ------
        DataError
            If the source has no rows.
        """
        frame = read_frame(self.data)
        if not frame.n:
            raise DataError(f"{frame.source} has a header but no rows: at least {MIN_ROWS} are needed")
        return frame

    @lockfree_cached_property
    def names(self) -> tuple[str, ...]:
        """The columns that the option `target` names."""
        return parse_target_names(self.frame, self.target)

    @property
    def origin(self) -> str:
        """The source, for messages."""
        return self.frame.source

    @property
    def n(self) -> int:
        """Number of rows."""
        return self.frame.n

    @property
    def has_own_option(self) -> bool:
        """Whether an option other than `target` and `y` describes the target."""
        return (self.ranking, self.stages, self.event) != (None, None, None)

    @property
    def is_multicolumn(self) -> bool:
        """Whether the target has several columns."""
        return is_two_dimensional(self.y) or len(self.names) > 1

    @property
    def is_categorical(self) -> bool:
        """Whether the target is a text column; text like damaged numbers is an error to correct."""
        if self.y is None:
            column = self.frame.columns[self.choose_column()[0][0]]
        elif np.ndim(self.y) == 1:
            column = self.convert(self.y if hasattr(self.y, "shape") else np.array(self.y, dtype=object))
        else:
            return False
        return column.texts is not None and column.kind == "text"

    @property
    def has_unequal_weights(self) -> bool:
        """Whether rows of positive weight differ in weight."""
        if self.weights is None:
            return False
        positive = self.weights[self.weights > 0.0]
        return bool((positive != positive[0]).any())

    @property
    def weight_filter(self) -> RowFilter | None:
        """The rows of positive weight; the content of the others is ignored."""
        if self.weights is None:
            return None
        return RowFilter(self.weights > 0.0, "of weight 0", ignores_missing=True)

    def get_weights(self) -> Values:
        """Return the row weights; 1 by default."""
        return np.ones(self.n) if self.weights is None else self.weights

    def get_column(self, name: str) -> SourceColumn:
        """Return a column of the frame."""
        return self.frame.columns[name]

    def require_columns(self, names: Collection[str], option: str) -> None:
        """Check that the frame has all columns that an option names."""
        require_columns(self.frame, names, option)

    def choose_column(self) -> tuple[list[str], list[str]]:
        """Choose a single target column: the named one or the default; none if there is a y. With notices."""
        if self.y is not None:
            return [], []
        name, notices = choose_target_column(self.frame, self.names[0] if self.names else None, self.exclude)
        return [name], notices

    def convert(self, cells: Any) -> SourceColumn:
        """Convert an array of shape (n,) to a column."""
        return convert_python_column(cells)

    def read_column(self) -> tuple[str, SourceColumn]:
        """Return name and content of a single target column, of the frame or from y.

        Raises
        ------
        DataError
            If y does not have one value for each row, or its name is that of an input.
        """
        if self.y is None:
            return self.columns[0], self.frame.columns[self.columns[0]]
        cells: Any = self.y if hasattr(self.y, "shape") else np.array(self.y, dtype=object)
        if cells.shape != (self.n,):
            raise DataError(
                f"y has shape {cells.shape}: one value is needed for each of the {self.n} rows of "
                f"{self.origin}"
            )
        column = convert_python_column(cells)
        label = getattr(self.y, "name", None)
        if label is None:
            name = "y"
            while name in self.inputs:
                name += "_"
            return name, column
        if str(label) in self.inputs:
            raise DataError(
                f"{quote(label)} is the name of y and of a column of {self.origin}: "
                f"leave that column out{hint_option('exclude')}, or rename one"
            )
        return str(label), column

    def read_numbers(self, name: str | None = None) -> tuple[str, Values]:
        """Return name and values of a numeric target column: a named one, or the only one.

        Raises
        ------
        DataError
            If the column does not hold numbers.
        """
        if self.y is None:
            name, _ = choose_numeric_target(self.frame, name or self.columns[0], self.exclude)
            column = self.frame.columns[name]
        else:
            name, column = self.read_column()
        if column.numbers is None or not column.is_numeric:
            raise DataError(f"y holds {column.description}: numbers are needed")
        return name, column.numbers


def check_target_options(
    *,
    target: object,
    y: object,
    ranking: object,
    stages: Sequence[str] | None,
    stage_weight: Any,
    event: object,
) -> None:
    """Check the options that describe a target, before the source is read.

    Raises
    ------
    OptionError
        If two of them exclude each other, or the stages or their weights are not valid.
    """
    own = {"ranking": ranking, "stages": stages}
    for options in (own | {"target": target, "y": y}, own | {"event": event}):
        used = [name for name, value in options.items() if value is not None]
        if len(used) > 1:
            first, second = (name if name == "y" else name_option(name) for name in used[:2])
            raise OptionError(f"both {first} and {second} are given: the target is one of them, not both")
    if stages is not None:
        parse_pair_weights(stage_weight, check_stage_names([str(name) for name in stages]))
    elif not (isinstance(stage_weight, str) and stage_weight == "all"):
        raise OptionError(
            f"{name_option('stage_weight')} requires {name_option('stages')}: name the stages too, or "
            "leave it out"
        )


def parse_target_names(frame: SourceFrame, target: str | Sequence[str] | None) -> tuple[str, ...]:
    """Parse the option `target` into column names.

    Parameters
    ----------
    frame : SourceFrame
        The source.
    target : str, sequence of str or None
        One name, a list of names, or a text such as ``"a,b"`` if the source has no column of that name.

    Returns
    -------
    tuple of str
        Empty for None.

    Raises
    ------
    OptionError
        If a name is repeated, no name is given, or the text cannot be split.

    Examples
    --------
    >>> from symscreen.data import read_frame
    >>> parse_target_names(read_frame({"a": [1], "b": [2]}), "a,b")
    ('a', 'b')
    """
    match target:
        case None:
            return ()
        case str() if target not in frame.columns and "," in target:
            names = parse_name_list(target, "target")
        case list() | tuple():
            names = tuple(str(name) for name in target)
        case _:
            names = (str(target),)
    duplicates = [name for name in names if names.count(name) > 1]
    if duplicates:
        raise OptionError(f"{name_option('target')} names {quote(duplicates[0])} twice: name it once")
    if not names:
        raise OptionError(f"{name_option('target')} names no column: name one, or several")
    return names


def list_target_columns(
    frame: SourceFrame, y: object, options: ScreenOptions, exclude: Collection[str]
) -> list[str]:
    """List the columns that hold the target by the options of a screen; none if it is passed separately."""
    names = [
        *parse_target_names(frame, options.target),
        *to_list(options.ranking),
        *split_column_names(options.stages, "stages"),
    ]
    if y is None and not names:
        names = [choose_target_column(frame, None, exclude)[0]]
    return names if options.event is None else [*names, options.event]


def to_list(names: str | Sequence[str] | None) -> list[str]:
    """Convert an option that accepts one name or several to a list of names."""
    return [] if names is None else [names] if isinstance(names, str) else [str(name) for name in names]


def is_two_dimensional(y: Any) -> bool:
    """Return whether a separate target has several columns.

    Examples
    --------
    >>> is_two_dimensional([[1, 2], [2, 1]]), is_two_dimensional([1.5, 2.5]), is_two_dimensional(None)
    (True, False, False)
    """
    shape = getattr(y, "shape", None)
    if shape is None:
        try:
            shape = np.shape(y)
        except ValueError:  # a ragged list; the reader raises an error later
            return False
    return len(shape) == 2 and shape[1] > 1


def detect_target_type(source: TargetSource) -> type[Target]:
    """Decide the type of a target, once for the whole run.

    Parameters
    ----------
    source : TargetSource
        The source with the options that describe the target.

    Returns
    -------
    type
        The first type of `TARGET_TYPES` that matches; numeric if none does.

    Raises
    ------
    OptionError
        If the requested type is unknown or does not match the target.

    Examples
    --------
    >>> from symscreen.data import read_frame
    >>> frame = read_frame({"mail": ["spam", "ham"], "length": [1.0, 2.0]})
    >>> detect_target_type(TargetSource(frame, target="mail")).description
    'a class'
    """
    requested, kinds = source.requested, get_args(TargetTypeChoice)
    if requested is not None and requested not in kinds:
        raise OptionError(f"target_type is {requested!r}{suggest(requested, kinds)}")
    if requested is not None and source.is_multicolumn and not TARGET_TYPES[requested].combines_outputs:
        if len(source.names) > 1:
            raise OptionError(
                f"there are {len(source.names)} targets{hint_option('target', source.names)}, but "
                f"{name_option('target_type', requested)} takes one"
            )
        raise OptionError(
            f"y has several columns, but {name_option('target_type', requested)} takes one: give one, or "
            "'several'"
        )
    found = next((one for one in TARGET_TYPES.values() if one.matches(source)), TARGET_TYPES["numeric"])
    if requested is not None and TARGET_TYPES[requested].combines_outputs and not found.combines_outputs:
        raise OptionError(
            f"{name_option('target_type', 'several')} needs several targets: give "
            f"them{hint_option('target', ['a', 'b'])}"
        )
    return found
