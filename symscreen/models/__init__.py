"""Sparse models on screened features: searched, chosen, fitted."""

from symscreen.models.choice import Candidate, Criterion, candidates_in, front, preferred, rivals_of
from symscreen.models.constants import constants_in, with_fitted_constants
from symscreen.models.dictionary import named
from symscreen.models.fit_result import FitResult
from symscreen.models.fit_tables import fit_tables
from symscreen.models.inference import Estimates, estimates_of, snapped
from symscreen.models.paths import models_on_paths
from symscreen.models.residual import residual_of
from symscreen.models.search import EXACT, Effort, Found, exhausted, search

__all__ = [
    "EXACT",
    "Candidate",
    "Criterion",
    "Effort",
    "Estimates",
    "FitResult",
    "Found",
    "candidates_in",
    "constants_in",
    "estimates_of",
    "exhausted",
    "fit_tables",
    "front",
    "models_on_paths",
    "named",
    "preferred",
    "residual_of",
    "rivals_of",
    "search",
    "snapped",
    "with_fitted_constants",
]
