"""Compile the kernels that most tests use, in two processes: each worker of the tests would do it again.

``make`` runs this once, when it makes the environment of the tests. It runs small screens and fits of every
kind. What it does not reach is compiled by the first test that needs it.
"""

from __future__ import annotations

import sys
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

import symscreen
from symscreen import label_ranking, multistage
from symscreen._numba import COMPILE_NOTICE
from symscreen.screeners import SCREENERS

if TYPE_CHECKING:
    from collections.abc import Callable

_SPACE = {"layers": "ub", "unary": "square,sin", "binary": "add,mul", "quiet": True}


def make_frame(n_rows: int = 60) -> pd.DataFrame:
    """Draw inputs with and without ties, and targets of several types."""
    rng = np.random.default_rng(1)
    x1, x2 = rng.uniform(0.5, 2.0, (2, n_rows))
    x3 = rng.integers(1, 5, n_rows).astype(float)
    target = x1**2 + x2 / x3 + rng.normal(0.0, 0.1, n_rows)
    return pd.DataFrame({"x1": x1, "x2": x2, "x3": x3, "target": target})


def screen_numbers() -> None:
    """Screen by every screener that takes numbers, with all figures of trust, small and large."""
    frame = make_frame()
    numeric = [name for name, one in SCREENERS.items() if "numeric" in one.target_types]
    joint = ("lasso[folds=3]", "scad[folds=3]", "mcp[folds=3]", "stepwise[direction=exhaustive]")
    columns = [name for name in numeric if hasattr(SCREENERS[name], "null_distribution")]
    trust = {"permutations": 19, "stability": 2, "intervals": True}
    symscreen.screen(frame, screener=",".join(columns), **trust, **_SPACE)
    symscreen.screen(frame, screener="t0," + ",".join(joint), prescreen=10, **_SPACE)
    symscreen.screen(make_frame(3000), screener=",".join(columns), **_SPACE)
    symscreen.screen(frame.assign(w=frame.x3), weights="w", **_SPACE)
    symscreen.screen(frame.head(8), **_SPACE)


def screen_other_targets() -> None:
    """Screen classes, several targets, survival times, rankings and stages."""
    frame = make_frame()
    rng = np.random.default_rng(2)
    event, classes = (frame.x3 > 1).astype(int), frame.x3.map({1: "a", 2: "b", 3: "c", 4: "d"})
    symscreen.screen(frame.assign(c=classes), target="c", screener="t0,xi", **_SPACE)
    symscreen.screen(frame, target=["target", "x2"], **_SPACE)
    symscreen.screen(frame.assign(e=event), target="target", event="e", **_SPACE)
    ranked = frame.rename(columns={"target": "r1", "x3": "r2"}).assign(r3=rng.normal(size=60))
    symscreen.screen(ranked, ranking=["r1", "r2", "r3"], screener="t0,crit", prescreen=10, **_SPACE)
    staged = frame.assign(s1=event, s2=event * rng.integers(0, 2, 60)).drop(columns="target")
    symscreen.screen(staged, stages=["s1", "s2"], **_SPACE)


def search_and_learn() -> None:
    """Fit a law with noise, a screen by race, and the learners of rankings and stages."""
    frame = make_frame()
    symscreen.fit(frame, target="target", effort="quick", quiet=True)
    symscreen.fit(frame, target="target", layers="ub", quiet=True)
    symscreen.screen(make_frame(500), search="race", **_SPACE)
    chains = multistage.simulate_chains(n_users=12, n_items=10, shares=(0.5, 0.2, 0.3), random_state=0)
    multistage.MonotoneChainRecommender(chains.stages, random_state=0).fit(chains.select_part("training"))
    ranks = np.argsort(np.argsort(frame[["x1", "x2", "x3"]].to_numpy(), axis=1), axis=1) + 1.0
    label_ranking.ConsensusRankingTree(ccp_lambda="cv", random_state=0).fit(frame[["x1", "x2"]], ranks)
    label_ranking.find_median_ranking(label_ranking.estimate_pairwise_probabilities(ranks))


PARTS: tuple[Callable[[], None], ...] = (screen_numbers, screen_other_targets, search_and_learn)


def run_part(place: int) -> None:
    """Run one part, with one line less on standard error."""
    COMPILE_NOTICE.mute()
    PARTS[place]()


if __name__ == "__main__":
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        list(pool.map(run_part, range(len(PARTS))))
    sys.exit(0)
