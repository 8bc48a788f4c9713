"""Sparse linear models of generated features: search, model selection and coefficient estimates."""

from symscreen.fitting.coefficients import (
    CoefficientEstimates,
    estimate_coefficients,
    evaluate_terms,
    get_input_columns,
    get_targets,
    is_identifiable,
)
from symscreen.fitting.constants import count_constants, fit_constants
from symscreen.fitting.feature_dictionary import build_dictionary, make_empty_dictionary
from symscreen.fitting.formula_fits import compute_unexplained_share, fit_formulas, predict_on_dataset
from symscreen.fitting.model_selection import (
    Criterion,
    ScoredModel,
    find_alternatives,
    find_pareto_front,
    score_models,
    select_model,
)
from symscreen.fitting.model_tables import build_model_table, build_term_table
from symscreen.fitting.path_search import find_path_models
from symscreen.fitting.simple_coefficients import snap_coefficients
from symscreen.fitting.subset_search import (
    FitData,
    ModelSearchBudget,
    ModelSearchResult,
    compute_rounding_share,
    search_all_subsets,
    search_models,
)
from symscreen.linear_models.model_criteria import EXACT_SHARE

__all__ = [
    "EXACT_SHARE",
    "CoefficientEstimates",
    "Criterion",
    "FitData",
    "ModelSearchBudget",
    "ModelSearchResult",
    "ScoredModel",
    "build_dictionary",
    "build_model_table",
    "build_term_table",
    "compute_rounding_share",
    "compute_unexplained_share",
    "count_constants",
    "estimate_coefficients",
    "evaluate_terms",
    "find_alternatives",
    "find_pareto_front",
    "find_path_models",
    "fit_constants",
    "fit_formulas",
    "get_input_columns",
    "get_targets",
    "is_identifiable",
    "make_empty_dictionary",
    "predict_on_dataset",
    "score_models",
    "search_all_subsets",
    "search_models",
    "select_model",
    "snap_coefficients",
]
