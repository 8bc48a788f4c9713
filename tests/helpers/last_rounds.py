"""The laws that are found by the searches that have several rounds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from symscreen.fitting.laws.rational_forms import search_rational_forms
from symscreen.fitting.laws.transformed_sums import search_transformed_sums

if TYPE_CHECKING:
    from symscreen.fitting.laws.law import Law, LawData


def find_transformed_sums(data: LawData) -> list[Law]:
    """Return what the last round of the search for transformed sums gives; nothing if there is no round."""
    return ([], *search_transformed_sums(data))[-1]


def find_rational_forms(data: LawData) -> list[Law]:
    """Return what the last round of the search for rational forms gives; nothing if there is no round."""
    return ([], *search_rational_forms(data))[-1]
