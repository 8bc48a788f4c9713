"""A response that is a class, and whether each row is of a class or of another: a binary response a class.

Of two classes one such response says all: T0 against it is a Mann-Whitney count.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from symscreen._cached_property import lockfree_cached_property
from symscreen.errors import DataError, escape_control_chars
from symscreen.targets.binary import BinaryTargets, build_binary_targets

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from symscreen.targets.numeric import TargetType


__all__ = ["MulticlassTarget"]


@dataclass(frozen=True, eq=False)
class MulticlassTarget:
    """A response of n rows, each of which is of one of C classes.

    Parameters
    ----------
    codes : int64 array, shape (n,)
        The place of each row's class among `classes`; each class has a row.
    classes : tuple of str, length C
        Their names.
    name : str
        What it is called, for messages and results.

    Raises
    ------
    TableError
        If all rows are of one class.

    Examples
    --------
    >>> y = MulticlassTarget(np.array([0, 1, 1, 0]), ("ham", "spam"), "mail")
    >>> y.binary.signs.tolist()
    [[-1, 1, 1, -1]]
    >>> y = MulticlassTarget(np.array([0, 1, 2, 0]), ("a", "b", "c"))
    >>> y.sizes.tolist(), y.binary.signs.tolist()
    ([2, 1, 1], [[1, -1, -1, 1], [-1, 1, -1, -1], [-1, -1, 1, -1]])
    """

    codes: NDArray[np.int64]
    classes: tuple[str, ...]
    name: str = "y"
    target_type: ClassVar[TargetType] = "classes"

    def __post_init__(self) -> None:
        if len(self.classes) < 2:
            only = f" ({escape_control_chars(repr(self.classes[0]))})" if self.classes else ""
            raise DataError(
                f"all {self.n} rows are of one class of {escape_control_chars(repr(self.name))}{only}: "
                "nothing can be "
                "ranked against it; choose another with --target"
            )

    @property
    def n(self) -> int:
        """The number of rows."""
        return int(self.codes.size)

    @lockfree_cached_property
    def class_counts(self) -> NDArray[np.int64]:
        """The number of rows of each class; shape (C,)."""
        return np.bincount(self.codes, minlength=len(self.classes)).astype(np.int64)

    @lockfree_cached_property
    def binary_targets(self) -> BinaryTargets:
        """Each class against the others; of two classes only the second, for the first says the same."""
        asked = [1] if len(self.classes) == 2 else range(len(self.classes))
        signs = np.stack([np.where(self.codes == code, 1, -1).astype(np.int8) for code in asked])
        return build_binary_targets(signs, code_gap=1.0)  # scores are those against 1[y = c]
