"""Terminal tables for class members, power analyses, fits and evaluations, with notes on how to read them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from rich.console import Group
from rich.text import Text

from symscreen.messages import COMMAND_LINE, escape_control_chars, name_option
from symscreen.report.fit_section import (
    format_level,
    format_low_heading,
    format_number_table,
    list_term_texts,
)
from symscreen.report.terminal.listings import add_row, make_notes, make_table
from symscreen.results.ranking_files import escape_spreadsheet, format_csv

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping, Sequence

    import pandas as pd
    from rich.console import RenderableType
    from rich.table import Table

    from symscreen.evaluation import Evaluation, Metric
    from symscreen.messages import OptionStyle
    from symscreen.results.fit_result import AnyFitResult, FitResult, GroupedFitResult, SharedFitResult
    from symscreen.screening.power import PowerResult

_HALF = 0.5  # detection probability at which a formula counts as lost

_ROUNDED_SHARE = 1e-15  # 1 − R² below which R² is 1 up to rounding
_DIGITS = 6  # significant digits of coefficients
_NUMBER_NOTE = "p-value: of the simple number; a small one counts against it. A fitted number has none."
_MAX_FRONT_ROWS = 8  # models of the Pareto front
_MAX_ALTERNATIVES = 5  # alternative models

_MAX_TARGETS_PER_TABLE = 3  # columns of targets that fit into 80 characters next to the terms
_MAX_NAME_WIDTH = 18  # characters of a target's name in its column heading

_MAX_GROUPS = 40  # groups whose constants are shown
_MAX_SYMBOLS = 3  # constants of a table, which is 80 characters wide

_HEADINGS = {
    "average_precision": "AP",
    "pr_auc": "PR-AUC",
    "roc_auc": "ROC-AUC",
    "recall": "R@",
    "first_correct": "first",
}


def build_class_table(members: pd.DataFrame, meanings: Mapping[str, str]) -> RenderableType:
    """Build a table of the members of equivalence classes.

    Parameters
    ----------
    members : pandas.DataFrame
        The result of `symscreen.classes`.
    meanings : mapping of str to str
        A short explanation of each relation.

    Returns
    -------
    rich renderable
        Input for `print_table`.
    """
    if not len(members):
        return Text("no equivalence class is shown.")
    table = make_table(
        ("rank", "right"),
        ("class", "right"),
        ("expression", "fold"),
        ("compl.", "right"),
        ("dir.", "left"),
        ("relation", "left"),
    )
    for row in members.to_dict("records"):
        is_first = row["member"] == 1
        add_row(
            table,
            (
                f"{row['rank']}" if is_first else "",
                f"{row['class_size']:,}" if is_first else "",
                row["expression"],
                row["complexity"],
                row["direction"],
                row["relation"],
            ),
        )
        for text in row.get("equivalent_forms", ()):
            add_row(table, ("", "", f"= {text}", "", "", ""))
    return Group(table, Text(""), make_notes(_explain_relations(members, meanings)))


def format_members_csv(members: pd.DataFrame) -> str:
    """Format the members of classes as CSV, with formulas escaped for spreadsheets.

    Parameters
    ----------
    members : pandas.DataFrame
        The result of `symscreen.classes`.

    Returns
    -------
    str
        CSV text. Equivalent forms of a member share one cell, separated by semicolons.
    """
    escaped = members.assign(expression=list(map(escape_spreadsheet, members.expression)))
    if "equivalent_forms" in escaped:
        escaped["equivalent_forms"] = [
            "; ".join(map(escape_spreadsheet, texts)) for texts in escaped["equivalent_forms"]
        ]
    return format_csv(escaped)


def _explain_relations(members: pd.DataFrame, meanings: Mapping[str, str]) -> list[str]:
    """Explain the relations that occur, and say how many members are not listed."""
    relations = set(members.relation)
    lines = [f"{name}: {meaning}." for name, meaning in meanings.items() if name in relations]
    if "equivalent_forms" in members and members.equivalent_forms.map(len).any():
        lines.append("=: an equivalent form, equal by algebra, and therefore left out of the space.")
    n_members = int(members.loc[members.member == 1, "class_size"].sum())
    if n_members > len(members):
        lines.append(
            f"{len(members):,} of {n_members:,} members are listed; {name_option('class_members')} K lists "
            "more."
        )
    return lines


def build_power_table(power: PowerResult, style: OptionStyle = COMMAND_LINE) -> RenderableType:
    """Build a table of how often a planted formula is found, by noise ratio.

    Parameters
    ----------
    power : PowerResult
        The result of `symscreen.power`.
    style : OptionStyle
        How the notes write options.

    Returns
    -------
    rich renderable
        Input for `print_table`.
    """
    size = "features" if power.n_features is None else f"{power.n_features:,} features"
    is_thinned = power.max_correlation < 1.0
    counted = "distinct ones" if is_thinned else "equivalence classes"
    candidates = f"the best {power.top:,} {counted} of {size} by {power.screener}"
    head = [
        f"planted: {escape_control_chars(power.truth)}, on {power.n_rows:,} rows",
        f"searched for: {escape_control_chars(power.feature)}, among {candidates}",
    ]
    if power.closest_member and power.closest_member != power.feature:
        member = escape_control_chars(power.closest_member)
        head.append(f"the space contains it as {member} ({power.relation})")
    table = make_table(
        ("noise ratio", "right"),
        ("repeats", "right"),
        ("found", "right"),
        ("95 % interval", "left"),
        *([("represented", "right")] if is_thinned else []),
        ("median rank", "right"),
        ("mean rank", "right"),
    )
    for row in power.table.to_dict("records"):
        interval = f"{row['low']:.3f} to {row['high']:.3f}" if row["low"] < row["high"] else "certain"
        represented = [f"{row['represented'] / row['repeats']:.3f}"] if is_thinned else []
        ranks = (_format_rank(row["median_rank"]), _format_rank(row["mean_rank"]))
        found = (f"{row['probability']:.3f}", interval, *represented)
        add_row(table, (f"{row['noise_ratio']:g}", row["repeats"], *found, *ranks))
    return Group(Text("\n".join(head)), Text(""), table, Text(""), make_notes(_explain_power(power), style))


def _format_rank(rank: float) -> str:
    return "pruned" if math.isinf(rank) else f"{rank:,.1f}".removesuffix(".0")


def _explain_power(power: PowerResult) -> list[str]:
    """Explain the columns and the noise ratio at which the formula is lost."""
    found = "found: the share of repeats in which the list shows it, or an equivalent formula"
    noise = "noise ratio: the noise's standard deviation over the root mean square of the planted values"
    lines = [f"{found}; {noise}."]
    if power.max_correlation < 1.0:
        lines.append(
            "represented: the share in which the list shows a near-duplicate instead (rank correlation above "
            f"{power.max_correlation:g}); {name_option('max_correlation', 1)} shows both."
        )
    if power.half_power_noise is None:
        return [*lines, "not lost: it is found in at least half of the repeats at every noise ratio tried."]
    low, high = power.half_power_noise
    probabilities = power.table["probability"]
    if high == 0.0:
        lines.append("not found even without noise: other formulas fit the truth as well, or better.")
        if (probabilities >= _HALF).any():
            lines.append("at larger noise it is found by chance: many formulas are among the best there.")
    elif low == high:
        lines.append(
            f"lost at a noise ratio of about {low:.3g}: above it, fewer than half of the repeats find it."
        )
    elif low == 0.0 and high == power.table["noise_ratio"].iloc[0]:
        lines.append(
            f"lost at every noise ratio tried, from {high:g} on."
            if (probabilities < _HALF).all()
            else f"lost at {high:g}, the smallest noise ratio tried, and found at larger ones by chance only."
        )
    else:
        lines.append(f"lost between the noise ratios {low:g} and {high:g}: try values between them.")
    if any(map(math.isinf, power.table["median_rank"])):
        lines.append(f"pruned: lost when the pool was pruned between layers ({name_option('pool_size')}).")
    return lines


def format_equation(result: FitResult | GroupedFitResult) -> str:
    """Format ``target = formula`` on one line, with numbers to six digits.

    Parameters
    ----------
    result : FitResult
        The result of `symscreen.fit`.

    Returns
    -------
    str
        The equation, free of control characters.
    """
    return escape_control_chars(result.formula.round_numbers(_DIGITS).equation)


def build_fit_tables(result: FitResult) -> RenderableType:
    """Build the tables below the formula of a fit: coefficients, Pareto front and alternatives.

    Parameters
    ----------
    result : FitResult
        The result of `symscreen.fit`.

    Returns
    -------
    rich renderable
        Input for `print_table`.
    """
    quality = Text(f"{_format_quality(result.r2, result)}; {describe_rows(result)}.")
    tables = [Text(""), _build_coefficient_table(result), *_build_number_table(result)]
    return Group(*tables, Text(""), quality, Text(""), *build_model_tables(result))


def _build_number_table(result: FitResult) -> list[RenderableType]:
    """Build the table of simple numbers and those inside terms, after an empty line; nothing without any."""
    columns = format_number_table(result.record)
    if not columns:
        return []
    table = make_table(*((heading, "right") for heading in columns))
    for cells in zip(*columns.values(), strict=True):
        add_row(table, cells)
    notes = [_NUMBER_NOTE] if "p-value" in columns else []
    return [Text(""), table, *map(Text, notes)]


def _format_quality(r2: float, result: AnyFitResult) -> str:
    """Write R² and 1 − R², which is only known to be small if R² is 1 up to rounding."""
    share = 1.0 - r2
    is_small = abs(share) < _ROUNDED_SHARE and result.record["verdict"]["kind"] != "exact"
    return f"R2 = {r2:.6g}, 1 - R2 {f'below {_ROUNDED_SHARE:.0g}' if is_small else f'= {share:.3g}'}"


def build_model_tables(result: AnyFitResult) -> list[RenderableType]:
    """Build the tables of the Pareto front around the chosen model and of the alternatives.

    Parameters
    ----------
    result : FitResult, SharedFitResult or GroupedFitResult
        The result of `symscreen.fit`.

    Returns
    -------
    list of rich renderables
    """
    record = result.record
    shown, n_simpler = _select_around_chosen(result.front)
    left_out = f"; {n_simpler} simpler ones are not shown" if n_simpler > 1 else ""
    rows = " on the rows that chose the terms" if record["split"] else ""
    parts: list[RenderableType] = [
        Text(f"error against complexity{rows} (* the formula chosen{left_out}):"),
        _build_model_table(shown),
    ]
    if len(result.alternatives) and record["verdict"]["kind"] != "none":
        parts += [
            Text(""),
            Text(f"others that fit about as well{_describe_shown(len(result.alternatives))}:"),
            _build_model_table(result.alternatives.head(_MAX_ALTERNATIVES)),
        ]
    parts.append(Text(""))
    is_cv_left_out = record["criterion"] == "cv" and record["cv_error"] is None
    if result.is_partial:
        parts.append(Text("The time limit left out a part of the search."))
    criterion = "ebic" if is_cv_left_out else record["criterion"]
    charge = " (it charges for each term, and for the size of the search)" if criterion == "ebic" else ""
    parts.append(
        Text(
            f"{record['models']:,} models tried, from spaces of {record['searched']:,} features together; "
            f"chosen by {criterion}{charge}. same: the number of other models with as many terms and the "
            "same error."
        )
    )
    return parts


def _describe_shown(n_alternatives: int) -> str:
    """Say how many of the alternatives are shown, if not all."""
    return f" (the best {_MAX_ALTERNATIVES})" if n_alternatives > _MAX_ALTERNATIVES else ""


def _build_coefficient_table(result: FitResult) -> RenderableType:
    """Build the table of coefficients with their intervals, and units if there are any."""
    low_heading = format_low_heading(result.record)
    unit_columns = [("unit", "right")] if "unit" in result.terms else []
    numbers = [("coefficient", "right"), (low_heading, "right"), ("to", "right")]
    table = make_table(("term", "fold"), *numbers, *unit_columns)
    for text, row in zip(list_term_texts(result, _DIGITS), result.terms.to_dict("records"), strict=True):
        cells = [f"{row[name]:.{_DIGITS}g}" for name in ("coefficient", "low", "high")]
        add_row(table, (text, *cells, *(row[name] for name, _ in unit_columns)))
    return table


def describe_rows(result: AnyFitResult) -> str:
    """Describe which rows chose the terms and which gave the coefficients."""
    record = result.record
    if record["split"]:
        return (
            f"{record['rows_choosing']:,} rows chose the terms, {record['rows_estimating']:,} others "
            "gave the coefficients and this R2"
        )
    return f"the same {record['rows_choosing']:,} rows chose the terms"


def _select_around_chosen(front: pd.DataFrame) -> tuple[pd.DataFrame, int]:
    """Return the part of the front around the chosen model, and the number of simpler models before it."""
    index = int(front["chosen"].to_numpy().argmax())
    start = max(0, min(index - _MAX_FRONT_ROWS // 2, len(front) - _MAX_FRONT_ROWS))
    return front.iloc[start : start + _MAX_FRONT_ROWS], start


def _build_model_table(models: pd.DataFrame) -> RenderableType:
    """Build a table of models; the chosen one is starred."""
    content = "formula" if "formula" in models else "features"
    table = make_table(("compl.", "right"), ("1 - R2", "right"), ("same", "right"), (content, "fold"))
    for row in models.to_dict("records"):
        star = "* " if row.get("chosen") else ""
        unexplained = f"{max(1.0 - row['r2'], 0.0):.3g}"
        add_row(table, (row["complexity"], unexplained, row["rewritings"], star + row[content]))
    return table


def format_equations(result: SharedFitResult) -> tuple[str, ...]:
    """Format ``target = formula`` for each target; see `format_equation`."""
    return tuple(map(escape_control_chars, result.formula.round_numbers(_DIGITS).equations))


def build_shared_fit_tables(result: SharedFitResult) -> RenderableType:
    """Build the tables below the formulas of several targets: coefficients, Pareto front and alternatives.

    Parameters
    ----------
    result : SharedFitResult
        The result of `symscreen.fit`.

    Returns
    -------
    rich renderable
        Input for `print_table`.
    """
    level = format_level(result.record)
    parts: list[RenderableType] = [Text("")]
    for start in range(0, len(result.targets), _MAX_TARGETS_PER_TABLE):
        parts += [
            _build_shared_coefficient_table(result, result.targets[start : start + _MAX_TARGETS_PER_TABLE]),
            Text(""),
        ]
    parts += [
        Text(f"{escape_control_chars(name)}: {_format_quality(r2, result)}") for name, r2 in result.r2.items()
    ]
    note = f"{describe_rows(result)}. Below, 1 - R2 is the mean over targets."
    parts += [Text(f"± is half of a {level} interval; {note}"), Text("")]
    return Group(*parts, *build_model_tables(result))


def _build_shared_coefficient_table(result: SharedFitResult, targets: Sequence[str]) -> Table:
    """Build a table with one column of coefficients per target, and units if there are any."""
    table = make_table(("term", "fold"), *((_shorten_name(name), "right") for name in targets))
    has_units = f"unit[{targets[0]}]" in result.terms
    for text, row in zip(list_term_texts(result, _DIGITS), result.terms.to_dict("records"), strict=True):
        add_row(table, (text, *(_format_coefficient(row, name) for name in targets)))
        if has_units:
            add_row(table, ("", *(row[f"unit[{name}]"] for name in targets)))
    return table


def _format_coefficient(row: dict[Hashable, Any], name: str) -> str:
    return _format_with_half_width(row[f"coefficient[{name}]"], row[f"low[{name}]"], row[f"high[{name}]"])


def _format_with_half_width(value: float, low: float, high: float) -> str:
    return f"{value:.{_DIGITS}g} ± {(high - low) / 2:.2g}"


def _shorten_name(name: str) -> str:
    text = escape_control_chars(name)
    return text if len(text) <= _MAX_NAME_WIDTH else f"{text[: _MAX_NAME_WIDTH - 1]}…"


def build_grouped_fit_tables(result: GroupedFitResult) -> RenderableType:
    """Build the tables below the formula of groups: their constants, shared constants, and other models.

    Parameters
    ----------
    result : GroupedFitResult
        The result of `symscreen.fit`.

    Returns
    -------
    rich renderable
        Input for `print_table`.
    """
    level = format_level(result.record)
    quality = _format_quality(result.r2, result)
    parts: list[RenderableType] = [Text("")]
    symbols = [each.symbol for each in result.formula.constants]
    for start in range(0, len(symbols), _MAX_SYMBOLS):
        parts += [_build_group_table(result, symbols[start : start + _MAX_SYMBOLS]), Text("")]
    n_more = len(result.constants) - _MAX_GROUPS
    if n_more > 0 and symbols:
        parts += [Text(f"{n_more} more groups are not shown."), Text("")]
    shared = result.terms[result.terms["constant"] == ""]
    if len(shared):
        parts += [_build_shared_constant_table(shared), Text("")]
    shrunk = result.record["groups"]["shrinkage"] is not None
    rule = " Constants of groups with few rows are drawn to the mean of the groups." if shrunk else ""
    parts += [Text(f"{quality}; ± is half of a {level} interval.{rule}"), Text("")]
    return Group(*parts, *build_model_tables(result))


def _build_group_table(result: GroupedFitResult, symbols: Sequence[str]) -> Table:
    """Build the table of the constants of each group."""
    column = result.formula.column
    headings = [
        (_shorten_name(column), "left"),
        ("rows", "right"),
        *((symbol, "right") for symbol in symbols),
    ]
    table = make_table(*headings)
    for row in result.constants.head(_MAX_GROUPS).to_dict("records"):
        cells = [
            _format_with_half_width(row[symbol], row[f"{symbol}_low"], row[f"{symbol}_high"])
            for symbol in symbols
        ]
        add_row(table, (row[column], f"{row['rows']:,}", *cells))
    return table


def _build_shared_constant_table(shared: pd.DataFrame) -> Table:
    """Build the table of the coefficients and inner constants that all groups share."""
    table = make_table(("shared by all groups", "fold"), ("", "left"), ("value", "right"))
    for row in shared.to_dict("records"):
        value = _format_with_half_width(row["coefficient"], row["low"], row["high"])
        add_row(table, (row["term"], row["place"], value))
    return table


def build_evaluation_table(evaluation: Evaluation, meaning: str) -> RenderableType:
    """Build a table of the figures of each screener, with a note on how to read them.

    Parameters
    ----------
    evaluation : Evaluation
        The result of `symscreen.evaluation.evaluate` or `evaluate_bounds`.
    meaning : str
        One line that says which features count as correct.

    Returns
    -------
    rich renderable
        Input for `print_table`.
    """
    rows = evaluation.table.to_dict("records")
    first = rows[0]
    metrics = evaluation.metrics
    table = make_table(("screener", "left"), *((_format_heading(metric), "right") for metric in metrics))
    for row in rows:
        if not evaluation.has_bounds:
            add_row(table, [row["screener"], *(_format_number(row[metric.name]) for metric in metrics)])
            continue
        for side, label in enumerate(("at least", "at most")):
            cells = [_format_number(row[metric.bound_names[side]]) for metric in metrics]
            add_row(table, [f"{row['screener']}, {label}", *cells])
    terms = ", ".join(map(str, evaluation.truth.terms)) or "more than 64"
    share = f" ({first['share']:.3g} of all)" if first["features"] else ""
    head = [
        f"{first['correct']:,} of {first['features']:,} features are correct{share}: {meaning}",
        escape_control_chars(f"truth: {evaluation.truth.expression}; terms: {terms}"),
    ]
    note = _explain_figures(metrics, evaluation.chance_average_precision)
    return Group(Text("\n".join(head)), Text(""), table, Text(""), Text(note))


def _format_heading(metric: Metric) -> str:
    return _HEADINGS[metric.kind] + ("" if metric.k is None else str(metric.k))


def _format_number(value: object) -> str:
    number = float(str(value))
    return "-" if math.isnan(number) else f"{number:.4g}"


def _explain_figures(metrics: Sequence[Metric], random_baseline: float) -> str:
    explanations = {
        "average_precision": "AP: average precision; 1 at best, "
        f"{_format_number(random_baseline)} on average by chance.",
        "pr_auc": "PR-AUC: the same area by the trapezoidal rule.",
        "roc_auc": "ROC-AUC: 0.5 for a random order.",
        "first_correct": "first: the rank of the first correct feature.",
    }
    lines = [explanations[metric.kind] for metric in metrics if metric.kind in explanations]
    if any(metric.kind == "recall" for metric in metrics):
        lines.append("R@K: the share of the correct features that are among the best K.")
    return " ".join(lines)
