"""Class targets, decomposed into binary targets of one class against the others.

Two classes need only one binary target; T0 against it is a Mann-Whitney count. Rows are sorted by the inputs,
ties by the class.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from symscreen._cached_property import lockfree_cached_property
from symscreen.errors import DataError
from symscreen.messages import (
    escape_control_chars,
    format_count,
    hint_option,
    name_option_column,
    quote,
)
from symscreen.statistics.ranks.binary_targets import BinaryTargets, build_binary_targets
from symscreen.targets.base import BinaryDecomposedTarget, TargetColumns, sort_canonically

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from symscreen._typing import Integers, Values
    from symscreen.data.column_types import SourceColumn
    from symscreen.data.target_source import TargetSource
    from symscreen.statistics.ranks.sorted_block import SortedBlock
    from symscreen.targets.base import RowIndices


_MAX_UNLIKELY_CLASSES = 10  # texts with more values, most of them in one row, are no classes unless named so
_MAX_CLASSES = 100  # largest number of classes; each is scored against every feature
_MAX_LISTED = 6  # classes that a summary names


@dataclass(frozen=True, eq=False)
class MulticlassTarget(BinaryDecomposedTarget):
    """A target with one of C classes per row.

    Parameters
    ----------
    codes : int64 array, shape (n,)
        Index of each row's class in `classes`; each class occurs.
    classes : tuple of str, length C
        Names of the classes.
    name : str
        Name of the target, for messages and results.

    Raises
    ------
    DataError
        If all rows have the same class.

    Examples
    --------
    >>> y = MulticlassTarget(np.array([0, 1, 1, 0]), ("ham", "spam"), "mail")
    >>> y.binary_targets.signs.tolist()
    [[-1, 1, 1, -1]]
    >>> y = MulticlassTarget(np.array([0, 1, 2, 0]), ("a", "b", "c"))
    >>> y.class_counts.tolist(), y.binary_targets.signs.tolist()
    ([2, 1, 1], [[1, -1, -1, 1], [-1, 1, -1, -1], [-1, -1, 1, -1]])
    """

    codes: Integers
    classes: tuple[str, ...]
    name: str = "y"
    target_type: ClassVar[str] = "classes"
    prefix: ClassVar[str] = "the classes of "
    description: ClassVar[str] = "a class"
    refusal: ClassVar[str] = "does not support classes targets"
    pool_screeners: ClassVar[str] = "t0,xi"
    sign_conflict: ClassVar[tuple[str, str]] = (
        "classes",
        "with several of them alike; give two as the numbers 0 and 1",
    )

    def __post_init__(self) -> None:
        if len(self.classes) < 2:
            class_name = f" ({escape_control_chars(repr(self.classes[0]))})" if self.classes else ""
            raise DataError(
                f"all {self.n} rows are of one class of {escape_control_chars(repr(self.name))}"
                f"{class_name}: nothing can be ranked against it; choose another{hint_option('target')}"
            )

    @classmethod
    def matches(cls, source: TargetSource) -> bool:
        """Return whether the target is a single column of text; numbers become classes only on request."""
        if source.has_own_option or source.is_multicolumn or source.requested not in {None, cls.target_type}:
            return False
        return source.requested is not None or source.is_categorical

    @classmethod
    def read(cls, source: TargetSource) -> TargetColumns:
        """Read a column of classes.

        Raises
        ------
        DataError
            If the column has too many classes, or its texts differ in most rows.
        """
        name, column = source.read_column()
        data = read_classes(source.origin, name, column)
        if source.requested is None:
            _check_few_classes(source.origin, data, column)
        if len(data.classes) > _MAX_CLASSES:
            rows = format_count(int((~np.isnan(data.codes)).sum()), "row")
            raise DataError(
                f"{source.origin}: the target {quote(name)} holds {len(data.classes):,} classes in {rows}, "
                f"more than {_MAX_CLASSES}: choose another{hint_option('target')}, merge classes, or "
                "predict it as a number instead of a class"
            )
        return TargetColumns(
            {name: data.codes}, lambda inputs, rows: cls.build(inputs, data.codes[rows], data.classes, name)
        )

    @classmethod
    def build(
        cls, inputs: Sequence[Values], codes: NDArray[Any], classes: tuple[str, ...], name: str
    ) -> tuple[RowIndices, MulticlassTarget]:
        """Sort rows with codes of shape (n,); classes without a row are removed."""
        used_codes, codes = np.unique(codes, return_inverse=True)
        used_classes = tuple(classes[int(code)] for code in used_codes)
        order = sort_canonically([*inputs[1:], codes.astype(np.float64)], inputs[0])
        return order, cls(codes[order].astype(np.int64), used_classes, name)

    def take_rows(self, inputs: Sequence[Values], rows: RowIndices) -> tuple[RowIndices, MulticlassTarget]:
        """Build the target of some of the rows."""
        return self.build(inputs, self.codes[rows], self.classes, self.name)

    @classmethod
    def build_example(cls, z: Values) -> MulticlassTarget:
        """Build a target that a feature determines."""
        return cls((z >= np.median(z)).astype(np.int64), ("a", "b"))

    @property
    def n(self) -> int:
        """Number of rows."""
        return int(self.codes.size)

    @property
    def data(self) -> Integers:
        """The codes; shape (n,)."""
        return self.codes

    @property
    def digest_metadata(self) -> list[object]:
        """The names of the classes."""
        return [self.classes]

    @property
    def record(self) -> dict[str, Any]:
        """The classes and their numbers of rows."""
        return {"classes": {"names": list(self.classes), "rows": self.class_counts.tolist()}}

    @classmethod
    def explain_directions(cls, data: Mapping[str, Any]) -> str | None:
        """Explain the column of directions, which only two classes have."""
        names = data["classes"]["names"]
        return f"dir.: + is higher in {escape_control_chars(names[1])}, - lower." if len(names) == 2 else None

    @classmethod
    def explain_gini(cls, data: Mapping[str, Any], options: Mapping[str, Any]) -> str:
        """Explain the scale of the Gini correlation."""
        del options
        mean = "" if len(data["classes"]["rows"]) == 2 else "mean over classes, each against the rest; "
        return f"{mean}1 separates the classes, 0 does not"

    @classmethod
    def describe_target(cls, data: Mapping[str, Any], options: Mapping[str, Any]) -> list[str]:
        """Give the classes with their numbers of rows."""
        del options
        names, rows = data["classes"]["names"], data["classes"]["rows"]
        pairs = list(zip(names, rows, strict=True))[:_MAX_LISTED]
        shown = ", ".join(f"{escape_control_chars(name)} {count:,}" for name, count in pairs)
        more = f" and {len(rows) - _MAX_LISTED} more" if len(rows) > _MAX_LISTED else ""
        return [f"{len(rows)} classes with their numbers of rows: {shown}{more}."]

    @lockfree_cached_property
    def class_counts(self) -> Integers:
        """Number of rows of each class; shape (C,)."""
        return np.bincount(self.codes, minlength=len(self.classes)).astype(np.int64)

    @lockfree_cached_property
    def binary_targets(self) -> BinaryTargets:
        """One binary target per class: 1 for the class, −1 for others; for two classes only the second."""
        codes = [1] if len(self.classes) == 2 else range(len(self.classes))
        signs = np.stack([np.where(self.codes == code, 1, -1).astype(np.int8) for code in codes])
        return build_binary_targets(signs, code_gap=1.0)  # scores are computed against 1[y = c]

    def compute_xi(self, ordered: SortedBlock) -> Values:
        """Compute the mean over classes of ξ_c of m features."""
        from symscreen.statistics.ranks.xi import compute_multiclass_xi

        return compute_multiclass_xi(ordered, self.codes, self.class_counts)

    def find_directions(self, ordered: SortedBlock, directions: NDArray[np.int8]) -> NDArray[np.int8]:
        """Return the direction for two classes, 0 for more."""
        if len(self.classes) > 2:
            return np.zeros(len(directions), dtype=np.int8)
        return super().find_directions(ordered, directions)


class ClassData(NamedTuple):
    """The class of each row of a source; classes are sorted by name, or by value if numeric."""

    name: str
    classes: tuple[str, ...]
    codes: Values  # (n,): index of the class, NaN where missing


def _check_few_classes(origin: str, data: ClassData, column: SourceColumn) -> None:
    """Refuse texts that differ in most rows: they are numbers with units or remarks, or names."""
    n_rows = int((~np.isnan(data.codes)).sum())
    n_classes = len(data.classes)
    if column.texts is not None and n_classes > _MAX_UNLIKELY_CLASSES and 2 * n_classes > n_rows:
        raise DataError(
            f"{origin}: the target {quote(data.name)} holds {n_classes} different texts in {n_rows} rows, "
            f"such as {quote(data.classes[0])}: leave only numbers in its cells, or choose "
            f"another{hint_option('target')}; for classes say so{hint_option('target_type', 'classes')}"
        )


def read_classes(origin: str, name: str, column: SourceColumn, option: str = "target") -> ClassData:
    """Read a column of classes.

    Parameters
    ----------
    origin : str
        The source, for messages.
    name : str
        Name of the column.
    column : SourceColumn
        A column of text or numbers. Blank texts count as missing.
    option : str
        The name of the option that names the column, for messages.

    Returns
    -------
    ClassData

    Raises
    ------
    DataError
        If the column contains neither text nor numbers.
    """
    if column.numbers is not None and column.is_numeric:
        is_present = ~np.isnan(column.numbers)
        distinct, known_codes = np.unique(column.numbers[is_present] + 0.0, return_inverse=True)
        classes = tuple(
            f"{number:g}" if float(f"{number:g}") == number else repr(float(number))
            for number in distinct.tolist()
        )
    elif column.texts is not None:
        texts = [text if text and text.strip() else None for text in column.texts.to_list()]
        is_present = np.array([text is not None for text in texts], dtype=np.bool_)
        known_texts = [text for text in texts if text is not None]
        classes = tuple(sorted(set(known_texts)))
        code_of_class = {class_name: code for code, class_name in enumerate(classes)}
        known_codes = np.array([code_of_class[text] for text in known_texts], dtype=np.int64)
    else:
        raise DataError(
            f"{origin}: {name_option_column(option, name)} holds {column.description}: words or "
            "numbers are needed; correct it, or choose another"
        )
    codes = np.full(is_present.size, np.nan)
    codes[is_present] = known_codes
    return ClassData(name, classes, codes)
