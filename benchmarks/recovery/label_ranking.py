"""How well `RankingEnsemble`, as it comes, predicts the standard sets of label ranking.

Every set is divided into the ten folds of the first repeat of ``symscreen reproduce lr-benchmarks``. Each
fold is predicted by the default estimator, the same on all sets, fitted to the other nine, and scored by the
mean Kendall coefficient of rank vectors and by that of lists of labels in order, which some published tables
have. Of the sets named in ``LONG`` a fold costs minutes, and only the first two are predicted.

One process, one thread. Every fold is printed when it is done, with its processor time. Results are
written after every set, so that a run can be stopped; with ``--keep`` another run adds sets. The sets are
not shipped: give a folder with ``iris.txt`` and others. Missing ones are skipped and named.
"""

from __future__ import annotations

import json
import time
from itertools import islice
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

from measurement import describe_machine, format_table, make_parser, save_results
from sklearn.model_selection import RepeatedKFold
from threadpoolctl import threadpool_limits

from symscreen.experiments.ranking_benchmarks import (
    REAL_SETS,
    SEMI_SYNTHETIC_SETS,
    get_best_published,
    read_ranked_set,
)
from symscreen.label_ranking import RankingEnsemble, kendall_tau, order_list_tau

if TYPE_CHECKING:
    from collections.abc import Sequence

    from symscreen.experiments.ranking_benchmarks import RankedSet

FOLDS, SEED = 10, 0
LONG, FEW_FOLDS = ("cpu-small", "pendigits", "elevators", "calhousing", "fried", *REAL_SETS), 2
AIM, WINS = 0.815, 12
SETS = (*(name for name in SEMI_SYNTHETIC_SETS if name not in LONG), *LONG)  # the quick ones first
HEAD = (
    "set",
    "rows",
    "inputs",
    "labels",
    "folds",
    "τ",
    "range over folds",
    "best published",
    "at or above, in two digits",
    "τ of order lists",
    "s a fold",
)


def predicted(data: RankedSet, folds: int, name: str) -> list[dict[str, Any]]:
    """Predict the first of ten folds."""
    splits = RepeatedKFold(n_splits=FOLDS, n_repeats=1, random_state=SEED).split(data.x)
    found: list[dict[str, Any]] = []
    for number, (train, test) in enumerate(islice(splits, folds)):
        start = time.process_time()
        model = RankingEnsemble(random_state=SEED + number).fit(data.x[train], data.observed[train])
        ranks, truth = model.predict(data.x[test]), data.truth[test]
        one = {
            "tau": float(kendall_tau(ranks, truth).mean()),
            "order_list_tau": float(order_list_tau(ranks, truth).mean()),
            "seconds": time.process_time() - start,
            "weights": {model: round(weight, 4) for model, weight in model.weights_.items()},
        }
        found.append(one)
        print(
            f"{name} fold {number}: tau {one['tau']:.4f}, order lists {one['order_list_tau']:.4f}, "
            f"{one['seconds']:.1f} s",
            flush=True,
        )
    return found


def measured_set(folder: Path, name: str) -> dict[str, Any] | None:
    """Measure one set, or say that it is not there."""
    path = folder / f"{name}.txt"
    if not path.is_file():
        print(f"{name}: {path} is not there, skipped", flush=True)
        return None
    data = read_ranked_set(path)
    folds = predicted(data, FEW_FOLDS if name in LONG else FOLDS, name)
    return {
        "set": name,
        "rows": data.truth.shape[0],
        "inputs": data.x.shape[1],
        "labels": data.truth.shape[1],
        "tau": fmean(fold["tau"] for fold in folds),
        "order_list_tau": fmean(fold["order_list_tau"] for fold in folds),
        "best_published": get_best_published(name),
        "folds": folds,
    }


def line(one: dict[str, Any]) -> list[object]:
    """Write the row of a set."""
    spread = [fold["tau"] for fold in one["folds"]]
    return [
        one["set"],
        f"{one['rows']:,}",
        one["inputs"],
        one["labels"],
        f"{len(spread)} of {FOLDS}",
        f"{one['tau']:.3f}",
        f"{min(spread):.3f} to {max(spread):.3f}",
        f"{one['best_published']:.2f}",
        "yes" if reaches(one) else "no",
        f"{one['order_list_tau']:.3f}",
        f"{fmean(fold['seconds'] for fold in one['folds']):.1f}",
    ]


def reaches(one: dict[str, Any]) -> bool:
    """Tell whether a set is at or above the best published figure, which has two digits."""
    return bool(round(one["tau"], 2) >= one["best_published"])


def summary(those: list[dict[str, Any]]) -> dict[str, Any]:
    """Take the means over the semi-synthetic sets that were measured."""
    semi = [one for one in those if one["set"] in SEMI_SYNTHETIC_SETS]
    if not semi:
        return {"sets": 0}
    return {
        "sets": len(semi),
        "tau": fmean(one["tau"] for one in semi),
        "order_list_tau": fmean(one["order_list_tau"] for one in semi),
        "best_published": fmean(one["best_published"] for one in semi),
        "at_or_above": sum(map(reaches, semi)),
        "at_or_above_unrounded": sum(one["tau"] >= one["best_published"] for one in semi),
        "aim": {"tau": AIM, "at_or_above": WINS},
    }


def remark(summary: dict[str, Any]) -> str:
    """Say under the table what its comparison rounds, and what comes of it without."""
    if not summary["sets"]:
        return ""
    return (
        f"\n\nPublished figures have two digits, and τ is rounded to two before it is compared with them. Of "
        f"{summary['sets']} semi-synthetic sets {summary['at_or_above']} are at or above the best published "
        f"figure so, and {summary['at_or_above_unrounded']} without rounding; their mean τ is "
        f"{summary['tau']:.3f}."
    )


def written(found: dict[str, Any], where: Path) -> None:
    """Write what was found, and its table."""
    table = format_table(HEAD, list(map(line, found["sets"]))) + remark(found["summary"])
    save_results("label_ranking", found, table, where)


def kept(results: Path, again: Sequence[str]) -> list[dict[str, Any]]:
    """Take the sets that were measured before, and are not to be measured again."""
    before = json.loads((results / "label_ranking.json").read_text())["sets"]
    return [one for one in before if one["set"] not in again]


def main(arguments: Sequence[str]) -> None:
    """Read what is options."""
    parser = make_parser(__doc__)
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--sets", nargs="+", choices=SETS, default=SETS)
    parser.add_argument("--keep", action="store_true", help="keep the sets written before")
    parser.add_argument("--table", action="store_true", help="only write the table of the results again")
    options = parser.parse_args(arguments)
    if options.table:
        written(json.loads((options.results / "label_ranking.json").read_text()), options.results)
        return
    if options.folder is None:
        parser.error("name the folder with the sets")
    named, those = describe_machine(), kept(options.results, options.sets) if options.keep else []
    with threadpool_limits(1):
        for name in options.sets:
            one = measured_set(options.folder, name)
            if one is not None:
                those.append(one)
                found = {"machine": named, "summary": summary(those), "sets": those}
                written(found, options.results)
