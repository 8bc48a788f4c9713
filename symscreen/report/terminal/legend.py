"""The legend of a ranking in the terminal: what its headings and marks mean, in at most three lines."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from symscreen.report.columns import GINI_HEADING, ScoreColumn, format_score_heading
from symscreen.report.terminal.reading_notes import format_rounding_mark
from symscreen.targets.registry import find_recorded_type

if TYPE_CHECKING:
    from collections.abc import Sequence

    from symscreen.results.screen_result import ScreenResult


_WIDTH = 80  # characters
_MAX_LINES = 3


def build_legend(result: ScreenResult, headings: Sequence[str], n_shown: int) -> list[str]:
    """Explain the headings and marks of a ranking.

    Parameters
    ----------
    result : ScreenResult
        The result.
    headings : sequence of str
        The headings of the table.
    n_shown : int
        Number of entries shown.

    Returns
    -------
    list of str
        At most three lines of at most 80 characters. If they cannot hold everything, what is explained last
        (marks, places in rounds) is left out.
    """
    phrases = _list_phrases(result, headings, n_shown)
    while phrases:
        lines = textwrap.wrap(f"{'; '.join(phrases)}.", _WIDTH, break_on_hyphens=False)
        if len(lines) <= _MAX_LINES:
            return lines
        phrases.pop()
    return []


def _list_phrases(result: ScreenResult, headings: Sequence[str], n_shown: int) -> list[str]:
    """List the explanations, the most important first."""
    data, record = result.record["data"], result.record
    target_type = find_recorded_type(data)
    phrases = []
    gini_heading = format_score_heading(ScoreColumn("t0"), result)
    if gini_heading in headings:
        phrases.append(f"{GINI_HEADING}: {target_type.explain_gini(data, record['options'])}")
        if gini_heading != GINI_HEADING:
            phrases.append("its interval ignores that the formulas were selected")
    if "redundancy" in record:
        cap = record["redundancy"]["cap"]
        phrases.append(f"alike: formulas that the row represents (rank correlation above {cap:g})")
    else:
        phrases.append("alike: formulas that the row represents, equivalent on these data")
    explained = {
        "q": "q: false discovery rate",
        "p all": "p all: p-value among all formulas",
        "stab.": "stab.: share of half-samples",
        "dir.": (target_type.explain_directions(data) or "").rstrip("."),
    }
    phrases += [phrase for heading, phrase in explained.items() if heading in headings]
    if any(f"{name}_selected" in result.table for name in record["options"]["screener"]):
        phrases.append("*: selected; -: not shown to that screener")
    if any(format_rounding_mark(row, record) for row in result.table.head(n_shown).to_dict("records")):
        phrases.append("~: rounding affects it")
    if "round" in headings:
        phrases.append("round: the round that found it")
    if "alone" in headings:
        phrases.append("alone: its rank in the first round")
    return phrases
