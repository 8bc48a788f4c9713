"""What pages quote from each results file: a function of ``QUOTES`` maps its content to texts by name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pages import inference_quotes, recovery_quotes, reliability_quotes, speed_quotes
from pages.reproduction_quotes import REPRODUCTION_QUOTES

if TYPE_CHECKING:
    from collections.abc import Callable

Results = dict[str, Any]

QUOTES: dict[str, Callable[[Results], dict[str, str]]] = {
    "million": speed_quotes.quote_million,
    "definition": speed_quotes.quote_definition,
    "scaling": speed_quotes.quote_scaling,
    "searches": speed_quotes.quote_searches,
    "recall": speed_quotes.quote_recall,
    "peers": speed_quotes.quote_peers,
    "units": speed_quotes.quote_units,
    "workers": speed_quotes.quote_workers,
    "installation": speed_quotes.quote_installation,
    "first_run": speed_quotes.quote_first_run,
    "ranking_screening": speed_quotes.quote_ranking_screening,
    "multistage": speed_quotes.quote_multistage,
    "large_table": speed_quotes.quote_large_table,
    "block_order": speed_quotes.quote_block_order,
    "candidate_filter": speed_quotes.quote_candidate_filter,
    "best_subsets": speed_quotes.quote_best_subsets,
    "matched_pairs": speed_quotes.quote_matched_pairs,
    "shared_terms": recovery_quotes.quote_shared_terms,
    "wide_tables": recovery_quotes.quote_wide_tables,
    "label_ranking": recovery_quotes.quote_label_ranking,
    "strogatz": recovery_quotes.quote_strogatz,
    "equations_of_motion": recovery_quotes.quote_equations_of_motion,
    "groups": recovery_quotes.quote_groups,
    "residual_rounds": recovery_quotes.quote_residual_rounds,
    "bart_additive": recovery_quotes.quote_bart_additive,
    "bart_trees": recovery_quotes.quote_bart_trees,
    "deep_formulas": recovery_quotes.quote_deep_formulas,
    "comparison": inference_quotes.quote_comparison,
    "bands": inference_quotes.quote_bands,
    "law_claims": inference_quotes.quote_law_claims,
    "first_answer": inference_quotes.quote_first_answer,
    "coverage": inference_quotes.quote_coverage,
    "null_tables": inference_quotes.quote_null_tables,
    "nulls": inference_quotes.quote_nulls,
    "tied_nulls": inference_quotes.quote_tied_nulls,
    "tied_nulls_kendall": inference_quotes.quote_tied_nulls,
    "tied_nulls_spearman": inference_quotes.quote_tied_nulls,
    "tied_nulls_xi": inference_quotes.quote_tied_nulls,
    "inputs": inference_quotes.quote_inputs,
    "family_rates": inference_quotes.quote_family_rates,
    "permutation_rates": inference_quotes.quote_permutation_rates,
    "splitting": inference_quotes.quote_splitting,
    "selection_bootstrap": inference_quotes.quote_selection_bootstrap,
    "autocorrelation": inference_quotes.quote_autocorrelation,
    "diabetes_p_values": inference_quotes.quote_diabetes_p_values,
    "nulls_xi": inference_quotes.quote_xi_nulls,
    "error_rates": inference_quotes.quote_error_rates,
    "fuzz": reliability_quotes.quote_fuzz,
    "hostile": reliability_quotes.quote_hostile,
    "refusals": reliability_quotes.quote_refusals,
    "faults": reliability_quotes.quote_faults,
    "soak": reliability_quotes.quote_soak,
    "mutations": reliability_quotes.quote_mutations,
    "mutations_1": reliability_quotes.quote_mutations,
} | REPRODUCTION_QUOTES
