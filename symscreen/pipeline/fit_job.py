"""What a fit is asked to do, its options read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from symscreen.pipeline.growth import Growth

if TYPE_CHECKING:
    from collections.abc import Mapping

    from symscreen.backends import Backend
    from symscreen.expansion import PoolKind
    from symscreen.grammar import Grammar, Layer
    from symscreen.models import Criterion
    from symscreen.result import Request
    from symscreen.units import Units

__all__ = ["FitJob"]


@dataclass(frozen=True, eq=False)
class FitJob:
    """A fit, its options read.

    Parameters
    ----------
    grammar : Grammar
        The rules.
    schedule : tuple of tuple of Layer
        The spaces to search, smaller ones first.
    asked : bool
        Whether the user named the layers; spaces of the default schedule may be left out for their size.
    pool_kind : {"cumulative", "strict"}
        As in `expand`.
    terms : int
        The most terms in a formula.
    choose : {"ebic", "bic", "aic", "cv"}
        What decides between models.
    folds : int
        Of the nested cross-validation.
    split : float
        The share of rows kept from the search for honest intervals; 0 for none.
    level : float
        Coverage of the intervals.
    snap : bool
        Whether to try simple numbers for the coefficients.
    seed : int
        For folds and the split.
    backend : Backend
        Where the work runs.
    max_bytes : int or None
        The memory allowed.
    cut, keeps
        As of `Growth`.
    ibart : bool
        Whether to follow iBART (Ye, Senftle and Li 2021): the inputs are cut, too, and of the space grown
        between cuts the LASSO chooses the features whose subsets are tried.
    units : Units or None
        As of `Growth`; the table is in base units then.
    told_units : mapping or None
        What the record tells of the units of columns and targets.
    told_categories : mapping or None
        What it tells of columns of categories, in the places where the record of a screen does.
    """

    grammar: Grammar
    schedule: tuple[tuple[Layer, ...], ...]
    asked: bool
    pool_kind: PoolKind
    terms: int
    choose: Criterion | str
    folds: int
    split: float
    level: float
    snap: bool
    seed: int
    backend: Backend
    max_bytes: int | None
    cut: Request | None = None
    keeps: Mapping[str, int] | None = None
    ibart: bool = False
    units: Units | None = None
    told_units: Mapping[str, Any] | None = None
    told_categories: Mapping[str, Any] | None = None

    @property
    def growth(self) -> Growth:
        """How spaces are grown."""
        return Growth(
            self.grammar,
            self.pool_kind,
            (),
            self.cut,
            self.keeps,
            self.max_bytes,
            self.backend.map,
            units=self.units,
        )
