"""Sparse models on screened features: searched, chosen, fitted."""

from symscreen.models.choice import Candidate, Criterion, candidates_in, front, preferred, rivals_of
from symscreen.models.constants import constants_in, with_fitted_constants
from symscreen.models.dictionary import empty_dictionary, named
from symscreen.models.estimation import (
    columns_of,
    determined,
    estimated,
    predicted,
    share_left,
    targets_of,
    terms_on,
)
from symscreen.models.fit_result import FitResult
from symscreen.models.fit_tables import model_table, term_table
from symscreen.models.inference import Estimates, estimates_of, snapped
from symscreen.models.paths import models_on_paths
from symscreen.models.residual import residual_of
from symscreen.models.search import EXACT, Data, Effort, Found, exhausted, rounding_share, search
from symscreen.models.shared_fit_result import SharedFitResult

__all__ = [
    "EXACT",
    "Candidate",
    "Criterion",
    "Data",
    "Effort",
    "Estimates",
    "FitResult",
    "Found",
    "SharedFitResult",
    "candidates_in",
    "columns_of",
    "constants_in",
    "determined",
    "empty_dictionary",
    "estimated",
    "estimates_of",
    "exhausted",
    "front",
    "model_table",
    "models_on_paths",
    "named",
    "predicted",
    "preferred",
    "residual_of",
    "rivals_of",
    "rounding_share",
    "search",
    "share_left",
    "snapped",
    "targets_of",
    "term_table",
    "terms_on",
    "with_fitted_constants",
]
