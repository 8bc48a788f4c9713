"""What stands on the page of a report: words, numbers, formulas and pictures, ready to be laid out."""

from __future__ import annotations

import json
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from symscreen.errors import printable
from symscreen.export.mathml import to_mathml
from symscreen.report.page.columns import Cell, Heading, cells_of, headings_of
from symscreen.report.page.command import command_of
from symscreen.report.pictures.feature import draw_feature, has_scatters, values_of
from symscreen.report.pictures.funnel import draw_funnel, kept_of, reasons_in
from symscreen.report.pictures.matrices import (
    MOST_ALIKE,
    agreement_square,
    draw_agreement,
    draw_redundancy,
    likeness,
)
from symscreen.report.pictures.p_values import draw_p_values, histogram_of
from symscreen.report.pictures.scores import MOST_SCORES, draw_scores
from symscreen.report.pictures.svg import inline_svg
from symscreen.report.response import against

if TYPE_CHECKING:
    from collections.abc import Callable

    from symscreen.result import ScreenResult

__all__ = ["MOST_FEATURES", "Entry", "page_content"]

MOST_FEATURES = 200
_SMALL = (1.9, 1.2)


@dataclass(frozen=True, slots=True)
class Entry:
    """One feature of the ranking.

    Parameters
    ----------
    rank : int
    mathml, picture : str
        Markup; no picture where there is none.
    text : str
        The formula in the one notation.
    span : str
        From where to where its values lie.
    alike : str
        Which other feature it is most like.
    cells : list of Cell
    """

    rank: int
    mathml: str
    picture: str
    text: str
    span: str
    alike: str
    cells: list[Cell]


def page_content(result: ScreenResult, data: str = "DATA") -> dict[str, Any]:
    """Gather what a page shows of a result.

    Parameters
    ----------
    result : ScreenResult
        What `symscreen.screen` returned; without its rows there are no scatters and no map.
    data : str
        The file's name, for the command.

    Returns
    -------
    dict
        For the template. All text is on one line and free of control characters; what is markup is named so.

    Raises
    ------
    OptionError
        If matplotlib is not installed.
    """
    record, headings = result.record, headings_of(result)
    reasons = reasons_in(record)
    return {
        "target": printable(record["data"]["target"]),
        "summary": _summary(result),
        "notices": list(map(printable, result.notices)),
        "reasons": reasons,
        "layers": [_layer(layer, reasons) for layer in record["layers"]],
        "funnel_markup": inline_svg(
            lambda axes: draw_funnel(axes, record),
            (6.4, 1.6 + 0.5 * len(record["layers"])),
            "Funnel: for each layer the shares kept and pruned; the table below has the numbers",
        ),
        "headings": headings,
        "entries": _entries(result, headings),
        "scatters": has_scatters(result),
        "first": record["options"]["screener"][0],
        "scores_shown": min(MOST_SCORES, len(result)),
        "scores_markup": _scores(result),
        "map_markup": _map(result),
        "map_features": min(MOST_ALIKE, len(result)),
        "agreement": _agreement(result),
        "p_values": _p_values(result),
        "command": command_of(record, data),
        "data": _data(record),
        "record": _record(record),
    }


def _summary(result: ScreenResult) -> list[str]:
    record = result.record
    data, search = record["data"], record.get("search")
    scored = f"{result.scored:,}"
    if search is not None:
        scored += f" of {search['features']:,} ({search['mode']})"
    names = ", ".join(record["options"]["screener"])
    rows, inputs = f"{data['rows']:,} rows", f"{len(data['inputs']):,} inputs"
    what = f"{against(data)}{printable(data['target'])} in {rows}"
    lines = [f"{scored} features of {inputs} scored against {what} by {names}; {len(result):,} are kept."]
    if len(result) > MOST_FEATURES:
        lines.append(f"The best {MOST_FEATURES} are shown here; a file of the ranking holds all of them.")
    if result.data is None:
        lines.append(
            "The rows were not at hand: the scatters and the redundancy map are left out. "
            "symscreen report RESULT --data DATA draws them."
        )
    elif not has_scatters(result):
        lines.append("The response is no one column of numbers: there are no scatters against it.")
    control = record.get("error_control", {})
    if control.get("passing") is not None:
        rate = f"a false discovery rate of {control['fdr']:g}"
        lines.append(f"{control['passing']:,} features of all that were scored pass {rate}.")
    return lines


def _layer(layer: dict[str, Any], reasons: list[str]) -> dict[str, Any]:
    kind = {"u": "unary", "b": "binary"}.get(layer["kind"], layer["kind"])
    return {
        "name": kind if layer["kind"] == "inputs" else f"{layer['layer']}, {kind}",
        "generated": layer["generated"],
        "pruned": [layer["pruned"].get(reason, 0) for reason in reasons],
        "kept": kept_of(layer),
        "features": layer["features"],
    }


def _entries(result: ScreenResult, headings: list[Heading]) -> list[Entry]:
    alike = likeness(result, MOST_FEATURES) if result.data is not None and len(result) > 1 else None
    texts = list(map(printable, result.table["expression"]))
    return [
        Entry(
            rank=place + 1,
            mathml=to_mathml(result.expressions[place]),
            picture=_picture(result, place) if has_scatters(result) else "",
            text=texts[place],
            span=_span(result, place),
            alike="" if alike is None else _nearest(alike, place),
            cells=cells_of(result, headings, place),
        )
        for place in range(min(MOST_FEATURES, len(result)))
    ]


def _picture(result: ScreenResult, place: int) -> str:
    direction = {"+": "rising", "-": "falling"}.get(result.table["direction"].iloc[place], "no direction")
    title = f"Response against the feature of rank {place + 1}, {direction}"
    return inline_svg(
        lambda axes: draw_feature(axes, result, place + 1, small=True), _SMALL, title, words=False
    )


def _span(result: ScreenResult, place: int) -> str:
    if result.data is None:
        return ""
    values = values_of(result, place)
    return f"{values.min():.3g} to {values.max():.3g}".replace("-", "−")


def _nearest(alike: Any, place: int) -> str:
    others = np.array(alike[place])
    others[place] = np.nan
    if np.isnan(others).all():
        return ""
    nearest = int(np.nanargmax(others))
    return f"most like rank {nearest + 1} (|ρ| = {others[nearest]:.3f})"


def _scores(result: ScreenResult) -> str:
    if not len(result):
        return ""
    shown = min(MOST_SCORES, len(result))
    return inline_svg(
        lambda axes: draw_scores(axes, result),
        (6.4, 1.0 + 0.26 * shown),
        f"Scores of the best {shown} features; the ranking below has the numbers",
    )


def _map(result: ScreenResult) -> str:
    if result.data is None or len(result) < 2:
        return ""
    title = "Redundancy map; the ranking names for each feature the one that it is most like"
    return inline_svg(lambda axes: draw_redundancy(axes, result), (5.0, 5.0), title)


def _agreement(result: ScreenResult) -> dict[str, Any] | None:
    if result.agreement is None or not len(result.agreement):
        return None
    names, _ = agreement_square(result)
    pairs = result.agreement.to_dict("records")
    size = 1.6 + 0.7 * len(names)
    return {
        "markup": _drawn(draw_agreement, result, (size, size), "Agreement of screeners; see the table"),
        "top": int(result.agreement["top"].max()),
        "pairs": [{**pair, **{key: _share(pair[key]) for key in ("kendall", "overlap")}} for pair in pairs],
    }


def _share(number: float) -> str:
    return "–" if np.isnan(number) else f"{number:.3f}".replace("-", "−")


def _p_values(result: ScreenResult) -> dict[str, Any] | None:
    if "p_value" not in result.table and "histogram" not in result.record.get("error_control", {}):
        return None
    counts, whole = histogram_of(result)
    edges = np.linspace(0.0, 1.0, len(counts) + 1)
    bins = [f"{low:.3g} to {high:.3g}" for low, high in pairwise(edges)]
    return {
        "markup": _drawn(draw_p_values, result, (5.4, 3.0), "Histogram of p-values; see the table"),
        "whole": whole,
        "bins": [(name, int(count)) for name, count in zip(bins, counts, strict=True) if count],
    }


def _drawn(
    draw: Callable[[Any, ScreenResult], None], result: ScreenResult, size: tuple[float, float], title: str
) -> str:
    return inline_svg(lambda axes: draw(axes, result), size, title)


def _record(record: dict[str, Any]) -> str:
    """Write the record out, but for the members of classes, which may be many times the rest."""
    told = {name: value for name, value in record.items() if name != "classes"}
    return "\n".join(map(printable, json.dumps(told, ensure_ascii=False, indent=1).splitlines()))


def _data(record: dict[str, Any]) -> list[tuple[str, str]]:
    data = record["data"]
    return [
        ("symscreen", str(record["symscreen"])),
        ("numpy", str(record["numpy"])),
        ("seed", str(record["options"]["seed"])),
        (
            "rows",
            f"{data['rows']:,}" + (f" ({data['rows_dropped']:,} dropped)" if data["rows_dropped"] else ""),
        ),
        ("inputs", ", ".join(map(printable, data["inputs"]))),
        ("digest of the data", str(data["digest"])),
    ]
