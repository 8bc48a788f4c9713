"""A response that is a class, and whether each row is of a class or of another: a binary response a class.

Of two classes one such response says all: T0 against it is a Mann-Whitney count.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from symscreen.errors import TableError, printable
from symscreen.once import once
from symscreen.response.binary import BinaryResponses, binary_responses

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from symscreen.response import Kind

__all__ = ["ClassesResponse"]


@dataclass(frozen=True, eq=False)
class ClassesResponse:
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
    >>> y = ClassesResponse(np.array([0, 1, 1, 0]), ("ham", "spam"), "mail")
    >>> y.binary.signs.tolist()
    [[-1, 1, 1, -1]]
    >>> y = ClassesResponse(np.array([0, 1, 2, 0]), ("a", "b", "c"))
    >>> y.sizes.tolist(), y.binary.signs.tolist()
    ([2, 1, 1], [[1, -1, -1, 1], [-1, 1, -1, -1], [-1, -1, 1, -1]])
    """

    codes: NDArray[np.int64]
    classes: tuple[str, ...]
    name: str = "y"
    kind: ClassVar[Kind] = "classes"

    def __post_init__(self) -> None:
        if len(self.classes) < 2:
            only = f" ({printable(repr(self.classes[0]))})" if self.classes else ""
            raise TableError(
                f"all {self.n} rows are of one class of {printable(repr(self.name))}{only}: nothing can be "
                "ranked against it; choose another with --target"
            )

    @property
    def n(self) -> int:
        """The number of rows."""
        return int(self.codes.size)

    @once
    def sizes(self) -> NDArray[np.int64]:
        """The number of rows of each class; shape (C,)."""
        return np.bincount(self.codes, minlength=len(self.classes)).astype(np.int64)

    @once
    def binary(self) -> BinaryResponses:
        """Each class against the others; of two classes only the second, for the first says the same."""
        asked = [1] if len(self.classes) == 2 else range(len(self.classes))
        signs = np.stack([np.where(self.codes == code, 1, -1).astype(np.int8) for code in asked])
        return binary_responses(signs, apart=1.0)  # scores are those against 1[y = c]
