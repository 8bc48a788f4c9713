"""The part of a search that found a formula. A comparison repeats this part on other rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from symscreen.fitting.stage_names import PATHS, SUBSETS

if TYPE_CHECKING:
    from symscreen.results.fit_result import FitResult


_STAGES_OF_SPACES = frozenset({SUBSETS, PATHS})


@dataclass(frozen=True, slots=True)
class SearchPart:
    """The stage of a search that found a formula.

    Parameters
    ----------
    stage : str or None
        Name of the stage; None if the mean was chosen.
    n_features : float
        Number of features in the largest space that a term was chosen from. Larger spaces are not searched.
    """

    stage: str | None
    n_features: float

    @property
    def searches_spaces(self) -> bool:
        """Whether spaces are searched, and not a law."""
        return self.stage in _STAGES_OF_SPACES


def find_search_part(result: FitResult) -> SearchPart:
    """Return the part of the search that found the formula of a fit."""
    record = result.record
    return SearchPart(record["stage"], max(record["search_sizes"], default=0.0))
