"""The verdict of a screen: whether its formulas are better than noise, in one or two sentences.

The verdict is built from the error control of a run (`build_verdict_record`), stored in the record, and
written as text from the record and the ranking (`format_verdict`).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Literal

from symscreen.config.parsing import DEFAULT_FDR, MAX_P_VALUE_CELLS
from symscreen.messages import Message, escape_control_chars, name_option
from symscreen.statistics.inference.p_value_counts import compute_harmonic_number
from symscreen.targets.registry import find_recorded_type

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas as pd

    from symscreen.targets import Target

# why a screen has no p-values
Obstacle = Literal["off", "cost", "joint", "target", "search", "pruning", "groups", "time", "null"]

_PERMUTATIONS = name_option("permutations", 200)
_RANK_SCREENERS = ("t0", "spearman", "xi")  # a rank statistic of n rows has no p-value below 2/n!


def build_verdict_record(
    error_control: Mapping[str, Any] | None,
    table: pd.DataFrame,
    obstacle: Obstacle | None,
    *,
    screener: str,
    n_rows: int,
) -> dict[str, Any]:
    """Build the record of the verdict.

    Parameters
    ----------
    error_control : mapping or None
        The record of the error control; None if nothing was computed.
    table : pandas.DataFrame
        The ranking.
    obstacle : Obstacle or None
        Why there are no p-values.
    screener : str
        The screener that ranks.
    n_rows : int
        Number of rows of the data.

    Returns
    -------
    dict
        ``kind``: ``signal`` (some formulas do better than noise), ``noise`` (none does), ``undecided`` (no
        formula could, with so few rows or permutations) or ``unavailable`` (for the reason ``obstacle``).
        Unless it is unavailable: ``by`` (``q_value`` or ``p_family``), ``rate``, ``passing`` (number of
        formulas), ``least`` (the smallest value).
    """
    if error_control is not None and "tests" in error_control:
        passing, least = error_control["passing"], error_control["least_q"]
        if _is_by_permutations(error_control):
            least_possible = _compute_smallest_q_value(error_control, error_control["permutations"])
            is_possible = least_possible <= error_control["rate"]
        else:
            floor = _compute_smallest_p_value(n_rows) if screener in _RANK_SCREENERS else 0.0
            is_possible = floor * error_control["tests"] <= error_control["rate"]
        return _describe_outcome(passing, least, error_control["rate"], is_possible=is_possible, by="q_value")
    if error_control is not None and "p_family" in table:
        p_values = table["p_family"].dropna()
        passing = int((p_values <= DEFAULT_FDR).sum())
        least = float(p_values.min()) if len(p_values) else None
        is_possible = 1.0 / (error_control["permutations"] + 1.0) <= DEFAULT_FDR
        return _describe_outcome(passing, least, DEFAULT_FDR, is_possible=is_possible, by="p_family")
    return {"kind": "unavailable", "obstacle": obstacle}


def _describe_outcome(
    passing: int, least: float | None, rate: float, *, is_possible: bool, by: str
) -> dict[str, Any]:
    kind = "signal" if passing else "noise" if is_possible else "undecided"
    return {"kind": kind, "by": by, "rate": rate, "passing": passing, "least": least}


def _compute_smallest_p_value(n_rows: int) -> float:
    """Compute 2/n!, the p-value of a feature that orders n rows exactly as the target does."""
    return min(1.0, math.exp(math.log(2.0) - math.lgamma(n_rows + 1.0)))


def _is_by_permutations(error_control: Mapping[str, Any]) -> bool:
    """Return whether q-values come from permutations."""
    return bool(error_control["source"] == "permutations")


def _compute_smallest_q_value(error_control: Mapping[str, Any], n_permutations: int) -> float:
    """Compute the q-value of features that do better than under any of some permutations."""
    scale = compute_harmonic_number(error_control["tests"]) if error_control["method"] == "by" else 1.0
    return scale / (n_permutations + 1.0)


def format_verdict(record: Mapping[str, Any], table: pd.DataFrame) -> Message:
    """Write the verdict.

    Parameters
    ----------
    record : mapping
        The record of a screen.
    table : pandas.DataFrame
        Its ranking.

    Returns
    -------
    Message
        One or two sentences. Empty for a record without a verdict.
    """
    verdict = record.get("verdict")
    if verdict is None:
        return Message("")
    if not len(table):
        return Message("No formula is left: there is nothing to compare with noise.")
    if verdict["kind"] == "unavailable":
        return Message(f"No verdict: {_explain_obstacle(record)}.")
    if verdict["by"] == "p_family":
        return Message(_format_family_verdict(record, table))
    return Message(_format_fdr_verdict(record, table))


def _format_fdr_verdict(record: Mapping[str, Any], table: pd.DataFrame) -> str:
    """Write a verdict from q-values."""
    verdict, error_control, data = record["verdict"], record["error_control"], record["data"]
    n_tests, rate = f"{error_control['tests']:,}", f"{100 * verdict['rate']:g} %"
    formulas = "1 formula" if error_control["tests"] == 1 else f"{n_tests} formulas"
    by = f", by {_format_permutations(error_control)}" if _is_by_permutations(error_control) else ""
    if verdict["kind"] == "undecided" and by:
        least = _compute_smallest_q_value(error_control, error_control["permutations"])
        n_needed = math.ceil(_compute_smallest_q_value(error_control, 0) / verdict["rate"]) - 1
        return (
            f"No verdict: with {_format_permutations(error_control)} no q-value is below {least:.2g}. At "
            f"least {n_needed:,} are needed."
        )
    if verdict["kind"] == "undecided":
        return (
            f"No verdict: {data['rows']:,} rows are too few. Even a formula that orders all rows as the "
            f"target does would not stand out among {n_tests}."
        )
    if verdict["kind"] == "noise":
        bound = ""
        if error_control.get("best_is_bound"):
            bound = " Its values repeat, so its q-value is an upper bound."
        return (
            f"No formula does better than noise: the best of {formulas} has a q-value of "
            f"{verdict['least']:.2g}, above the limit of {verdict['rate']:g}{by}.{bound}"
        )
    passing = verdict["passing"]
    count = f"{passing:,} of {formulas} {'does' if passing == 1 else 'do'} better than noise"
    return f"{count} (false discovery rate {rate}{by}). {_describe_best(record, table, 'q_value')}"


def _format_permutations(error_control: Mapping[str, Any]) -> str:
    """Write the number of permutations, as in "199 permutations of the target"."""
    number = error_control["permutations"]
    kind = "circular shift" if "runs" in error_control else "permutation"
    return f"{number:,} {kind}{'' if number == 1 else 's'} of the target"


def _format_family_verdict(record: Mapping[str, Any], table: pd.DataFrame) -> str:
    """Write a verdict from permutations of the target, which compare with the best of the whole space."""
    verdict, error_control = record["verdict"], record["error_control"]
    n_permutations, permutations = error_control["permutations"], _format_permutations(error_control)
    if verdict["kind"] == "undecided":
        return (
            f"No verdict: with {permutations} no p-value is below {1 / (n_permutations + 1):.2g}. At least "
            f"{math.ceil(1 / verdict['rate']) - 1} are needed."
        )
    if verdict["kind"] == "noise":
        return (
            f"No formula does better than noise: the p-value of the best is {verdict['least']:.2g} by "
            f"{permutations}."
        )
    passing = verdict["passing"]
    count = f"{passing:,} of the {len(table):,} formulas shown {'does' if passing == 1 else 'do'} better"
    return f"{count} than noise (p-value at most {verdict['rate']:g} by {permutations}). " + _describe_best(
        record, table, "p_family"
    )


def _describe_best(record: Mapping[str, Any], table: pd.DataFrame, column: str) -> str:
    """Name the best formula shown that passes, with its score."""
    passing = table[table[column] <= record["verdict"]["rate"]]
    if not len(passing):
        return "None of them is shown."
    best = passing.iloc[0]
    screener = record["options"]["screener"][0]
    score = (
        f"a Gini correlation of {best['gini']:.2f}"
        if "gini" in table and screener == "t0"
        else (f"{screener} {best[screener]:.3g}")
    )
    formula = escape_control_chars(str(best["expression"]))
    return f"The best is {formula}, with {score}."


def _explain_obstacle(record: Mapping[str, Any]) -> str:
    """Say why there are no p-values."""
    options, data, obstacle = record["options"], record["data"], record["verdict"]["obstacle"]
    screener = options["screener"][0]
    reasons = {
        "off": f"p-values were not requested ({name_option('p_values', value=False)})",
        "cost": f"p-values are left out where formulas times rows exceed {MAX_P_VALUE_CELLS:.0e}; "
        f"{name_option('p_values')} computes them",
        "joint": f"there are no p-values for {screener}, which judges formulas together",
        "target": f"there are no p-values for {find_recorded_type(data).description}"
        f"{_advise_permutations(find_recorded_type(data))}",
        "search": f"there are no p-values with {name_option('search', options['search'])}, which does not "
        "score every formula over all rows",
        "pruning": "there are no p-values, because pruning between layers used the target",
        "groups": "no null distribution is known where rows come in groups; "
        f"{_PERMUTATIONS} computes p-values",
        "time": "null distributions assume independent rows, which rows in the order of time are not; "
        f"{_PERMUTATIONS} compares with shifts of the target in time",
        "null": f"no null distribution is known for {screener}; {_PERMUTATIONS} computes p-values",
    }
    return reasons[obstacle]


def _advise_permutations(target_type: type[Target]) -> str:
    """Advise permutations for a target whose null distribution is unknown; several targets have none."""
    return "" if target_type.combines_outputs else f"; {_PERMUTATIONS} computes them"
