"""CRIT, the consensus ranking tree: what each feature explains of rankings (Clémençon et al. 2018)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np

from symscreen.screeners.joint import JointScreener, Option, Verdict
from symscreen.screeners.rank_view import rank_view
from symscreen.screeners.ranking_sample import dispersion_of, sample_of
from symscreen.statistics.crit import grow, importances

if TYPE_CHECKING:
    from collections.abc import Mapping

    from symscreen.response.rankings import RankingResponse
    from symscreen.screeners.joint import Shown

__all__ = ["CRIT"]

_PATIENCE = 600.0  # seconds of one core


def _judge(shown: Shown, settings: Mapping[str, Any]) -> Verdict:
    q = len(shown.values)
    sample = sample_of(rank_view(shown.values), cast("RankingResponse", shown.response))
    whole = dispersion_of(sample)
    nodes = grow(
        sample,
        max_depth=settings["depth"],
        min_leaf=settings["leaf"],
        min_decrease=settings["gain"] * whole,
    )
    importance = importances(nodes, q) / whole
    selected = np.bincount(nodes.feature[nodes.feature >= 0], minlength=q) > 0
    return Verdict(
        score=importance,
        loss=np.round(1.0 - importance, 9),
        selected=selected,
        direction=np.zeros(q, dtype=np.int8),
        record={
            "leaves": int((nodes.feature < 0).sum()),
            "explained": round(float(importance.sum()), 12),
            "selected": int(selected.sum()),
            "warnings": [],
        },
    )


def _capacity(rows: int, settings: Mapping[str, Any]) -> int:
    # a level of the tree takes about 20 ns a row and feature with ten pairs of labels, 0.2 µs with a hundred
    return int(np.clip(_PATIENCE / (2e-7 * rows * settings["depth"]), 20, 5000))


CRIT = JointScreener(
    name="crit",
    judge=_judge,
    capacity=_capacity,
    blind_to="ranks",
    options=(
        Option("depth", 5, "how many splits deep the tree is", least=1, most=30),
        Option("leaf", 5, "the fewest rows of a leaf", least=1),
        Option("gain", 0.01, "the least share of all dispersion that a split removes", least=0.0, most=1.0),
    ),
    summary="the share of the dispersion of rankings that a feature's splits remove in one tree (CRIT), for "
    "features shown together",
    assumes="the rankings depend on few of the features shown, of any shape",
    fails="of features that are nearly as good a tree takes one, and leaves nothing to others; use forest",
    cost="O(depth · features · rows · pairs of labels)",
    source="Clémençon, Korba and Sibony 2018, ALT, section 4.3",
    accepts=("ranking",),
)
