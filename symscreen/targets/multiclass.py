"""Class targets, decomposed into binary targets of one class against the others.

Two classes need only one binary target; T0 against it is a Mann-Whitney count.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from symscreen._cached_property import lockfree_cached_property
from symscreen.errors import DataError
from symscreen.messages import escape_control_chars, hint_option
from symscreen.targets.binary import BinaryTargets, build_binary_targets

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from symscreen.targets.numeric import TargetType


@dataclass(frozen=True, eq=False)
class MulticlassTarget:
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

    codes: NDArray[np.int64]
    classes: tuple[str, ...]
    name: str = "y"
    target_type: ClassVar[TargetType] = "classes"

    def __post_init__(self) -> None:
        if len(self.classes) < 2:
            class_name = f" ({escape_control_chars(repr(self.classes[0]))})" if self.classes else ""
            raise DataError(
                f"all {self.n} rows are of one class of {escape_control_chars(repr(self.name))}"
                f"{class_name}: nothing can be ranked against it; choose another{hint_option('target')}"
            )

    @property
    def n(self) -> int:
        """Number of rows."""
        return int(self.codes.size)

    @lockfree_cached_property
    def class_counts(self) -> NDArray[np.int64]:
        """Number of rows of each class; shape (C,)."""
        return np.bincount(self.codes, minlength=len(self.classes)).astype(np.int64)

    @lockfree_cached_property
    def binary_targets(self) -> BinaryTargets:
        """One binary target per class: 1 for the class, −1 for others; for two classes only the second."""
        codes = [1] if len(self.classes) == 2 else range(len(self.classes))
        signs = np.stack([np.where(self.codes == code, 1, -1).astype(np.int8) for code in codes])
        return build_binary_targets(signs, code_gap=1.0)  # scores are computed against 1[y = c]
