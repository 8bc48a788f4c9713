"""Which peers symscreen is measured against, and what either side does in each comparison."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tables import RATIONAL


@dataclass(frozen=True)
class Side:
    """One way of symscreen to do it.

    Parameters
    ----------
    description : str
        Which statistic, how searched.
    options : dict
        Of `symscreen.screen`.
    """

    description: str
    options: dict[str, Any]


@dataclass(frozen=True)
class Comparison:
    """One peer's work and ours, on one table.

    Parameters
    ----------
    name : str
        How it is chosen on the command line.
    recipe : str
        The peer's environment.
    script : tuple of str
        Under ``peers/``, with arguments; the table's path follows.
    description : str
        What the peer does, and with how many threads.
    space : str
        What symscreen's space is, and how it differs from the peer's.
    table : dict
        Of `tables.make`.
    sides : tuple of Side
        Ours.
    layers : str
        Of symscreen's space.
    whole : bool
        Whether the peer covers as large a space, so that whole times compare; else only each feature's do.
    repeats : int
        How often both are run in turn.
    """

    name: str
    recipe: str
    script: tuple[str, ...]
    description: str
    space: str
    table: dict[str, Any]
    sides: tuple[Side, ...]
    layers: str = f"{RATIONAL} {RATIONAL}"
    whole: bool = False
    repeats: int = 5


EXACT = Side("T0", {"screener": "t0"})
BOTH = Side("T0 and ξ", {"screener": ["t0", "xi"]})
PEARSON = Side("Pearson's r", {"screener": "pearson"})
SIEVE = Side("T0, sieve", {"screener": "t0", "search": "sieve"})
RACE = Side("T0, race at 1e-6", {"screener": "t0", "search": "race"})
_CURVES = "u[inv,exp,log,abs,sqrt,square,cube]"


def _table(inputs: int) -> dict[str, Any]:
    return {"kind": "strong", "rows": 400, "inputs": inputs}


def _columns(name: str, recipe: str, description: str, side: Side) -> Comparison:
    return Comparison(
        name,
        recipe,
        ("columns.py", name),
        description,
        "all products of two of 450 inputs, made and scored; the peer is given columns drawn from these",
        _table(450),
        (side,),
        layers="b[mul]",
    )


COMPARISONS = (
    Comparison(
        "torchsisso",
        "torchsisso",
        ("torchsisso.py",),
        "two expansions by + − × ÷ held in memory, and |r| of each feature, 2 threads",
        "the same inputs, operators and depth, squares and doubles included, algebraic duplicates left out",
        _table(15),
        (EXACT, BOTH, PEARSON, SIEVE, RACE),
        whole=True,
        repeats=3,
    ),
    Comparison(
        "autofeat",
        "autofeat",
        ("autofeat_generation.py",),
        "generation in three steps (curves, + − ×, curves), nothing scored, 1 thread; counted is what it "
        "returns, about half of what it makes",
        "the same inputs, operators and depth, generated and scored",
        _table(5),
        (EXACT,),
        layers=f"{_CURVES} b[add,sub,mul] {_CURVES}",
        repeats=3,
    ),
    Comparison(
        "gplearn",
        "gplearn",
        ("gplearn_spearman.py",),
        "SymbolicTransformer, Spearman metric, 10,000 programs of + − × ÷, 2 jobs",
        "formulas of + − × ÷ in two layers on the same inputs",
        _table(15),
        (Side("Spearman's ρ", {"screener": "spearman"}), EXACT),
        repeats=3,
    ),
    _columns(
        "kendall",
        "scipy",
        "scipy's kendalltau (τ-b) in a loop over 1,000 columns, 1 thread",
        Side("Kendall's τ-b", {"screener": "kendall"}),
    ),
    _columns(
        "tsfresh",
        "tsfresh",
        "the relevance table (Kendall's τ, p-values, false discovery rate) of 1,000 columns, 2 jobs",
        Side("Kendall's τ-b, no p-values", {"screener": "kendall"}),
    ),
    _columns(
        "chatterjee",
        "scipy",
        "scipy's chatterjeexi in a loop over 500 columns, 1 thread",
        Side("ξ", {"screener": "xi"}),
    ),
    _columns(
        "chatterjee-at-once",
        "scipy",
        "scipy's chatterjeexi on 5,000 columns in one call, 1 thread",
        Side("ξ", {"screener": "xi"}),
    ),
    _columns(
        "mutual-information",
        "scipy",
        "scikit-learn's mutual_info_regression of 500 columns, 2 jobs: another statistic, to the same end",
        Side("T0 and ξ", {"screener": ["t0", "xi"]}),
    ),
    _columns(
        "mrmr",
        "mrmr",
        "mRMR's choice of 20 of 500 columns, 2 jobs: another method, to the same end",
        Side("T0 and ξ", {"screener": ["t0", "xi"]}),
    ),
    _columns(
        "boruta",
        "boruta",
        "Boruta's verdict on 200 columns, 2 jobs, up to 50 rounds: another method, to the same end",
        Side("T0 and ξ", {"screener": ["t0", "xi"]}),
    ),
)

# SISSO 3.5 (Fortran, -O3, 2 MPI ranks) built 1,037,940 features of + − × ÷, rung 2, at n = 400, and screened
# them by |r|, in 3.67 s. It was measured on another machine, where two threads sorted a column of 400 packed
# keys in 1.09 µs; its figure is scaled by the same sort on this one.
SISSO_US = 3.67e6 / 1_037_940
SISSO_SORT_US = 2.4 / 2.2
SISSO = Comparison(
    "sisso",
    "",
    (),
    "SISSO 3.5, published figures: 1,037,940 features in 3.67 s, |r|, 2 ranks",
    "two layers of + − × ÷ on 16 inputs",
    _table(16),
    (EXACT, BOTH, PEARSON, SIEVE, RACE),
)
