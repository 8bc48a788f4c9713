"""Results: the bounded merge, rank classes, joint verdicts, the record, and what a screen returns."""

from symscreen.result.best import best_of, simplest_of
from symscreen.result.cutting import Chosen, cut_of, uncut
from symscreen.result.places import places_in
from symscreen.result.plan import Plan
from symscreen.result.prediction import Prediction, orders_worth, predicted, scoring_bytes
from symscreen.result.record import run_record
from symscreen.result.ruling import Ruling
from symscreen.result.screen_result import ScreenResult, ranking
from symscreen.result.screened import Request, Screened, scorer_of, screened, wanted_of
from symscreen.result.stream import chunk_size_for, with_margin
from symscreen.result.views import Pictures, Views

__all__ = [
    "Chosen",
    "Pictures",
    "Plan",
    "Prediction",
    "Request",
    "Ruling",
    "ScreenResult",
    "Screened",
    "Views",
    "best_of",
    "chunk_size_for",
    "cut_of",
    "orders_worth",
    "places_in",
    "predicted",
    "ranking",
    "run_record",
    "scorer_of",
    "scoring_bytes",
    "screened",
    "simplest_of",
    "uncut",
    "wanted_of",
    "with_margin",
]
