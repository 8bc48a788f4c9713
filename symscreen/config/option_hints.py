"""Hints for names that options have in other libraries, for messages about unknown names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from symscreen.messages import name_option, suggest

if TYPE_CHECKING:
    from collections.abc import Mapping


_HINTS: dict[str, tuple[str, object]] = {  # the option, and the value that is meant, if it is only one
    **dict.fromkeys(("k", "n_features", "n_features_to_select", "n_components", "n_best"), ("top", None)),
    **dict.fromkeys(("random_seed", "rng"), ("seed", None)),
    **dict.fromkeys(("threads", "n_threads", "workers", "n_workers", "cores"), ("jobs", None)),
    **dict.fromkeys(("verbose", "verbosity"), ("progress", True)),
    **dict.fromkeys(("classify", "classification", "classifier"), ("target_type", "classes")),
    **dict.fromkeys(("label", "labels", "response", "outcome", "y_column"), ("target", None)),
    **dict.fromkeys(("columns", "features", "feature_names", "usecols"), ("inputs", None)),
    **dict.fromkeys(("drop", "ignore"), ("exclude", None)),
    **dict.fromkeys(("categories", "cat_features", "categorical_features"), ("categorical", None)),
    **dict.fromkeys(("dropna", "nan_policy", "missing_values"), ("missing", None)),
    **dict.fromkeys(("depth", "max_depth", "n_layers", "feateng_steps"), ("layers", None)),
    **dict.fromkeys(("function_set", "functions", "transformations"), ("operators", None)),
    "unary_operators": ("unary", None),
    "binary_operators": ("binary", None),
    **dict.fromkeys(("maxsize", "max_size", "parsimony"), ("max_complexity", None)),
    **dict.fromkeys(("score_func", "scoring", "score", "method", "criteria"), ("screener", None)),
    "alpha": ("fdr", None),
    **dict.fromkeys(("p_value", "pvalues"), ("p_values", True)),
    **dict.fromkeys(("memory", "max_memory", "memory_limit"), ("max_ram", None)),
    **dict.fromkeys(("timeout", "max_time", "timeout_in_seconds"), ("time_limit", None)),
    "cv": ("folds", None),
    **dict.fromkeys(("niterations", "generations", "n_iter", "max_iter"), ("effort", None)),
    "sample_weight": ("weights", None),
}


def suggest_option(word: str, names: Mapping[str, str]) -> str:
    """Say which option a name means, for the end of an error message.

    Parameters
    ----------
    word : str
        What the user wrote, in Python or on the command line.
    names : mapping of str to str
        The option that each known name means, as the front end writes it.

    Returns
    -------
    str
        The option that has this name in another library, else the one whose name is most similar.

    Examples
    --------
    >>> from symscreen.messages import KEYWORD, render_message
    >>> names = {"target_type": "target_type", "top": "top", "max_features": "top"}
    >>> [render_message(suggest_option(word, names), KEYWORD) for word in ("k", "classify")]
    ['; use top=', "; use target_type='classes'"]
    >>> suggest_option("topp", names)
    "; did you mean 'top'?"
    """
    name, value = _HINTS.get(word.lstrip("-").replace("-", "_").casefold(), ("", None))
    if name in names:
        return f"; use {name_option(name, value)}"
    return suggest(word, dict.fromkeys(names.values()))
