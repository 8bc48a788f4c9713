"""Results: the bounded merge, rank classes, joint verdicts, the record, and what a screen returns."""

from symscreen.result.best import best_of, simplest_of
from symscreen.result.course import UNATTENDED, Course, Standing
from symscreen.result.cutting import Chosen, cut_of, uncut
from symscreen.result.error_control import ErrorControl, read_control
from symscreen.result.kept import Kept, none_kept
from symscreen.result.merging import Streamed
from symscreen.result.places import places_in
from symscreen.result.plan import Plan
from symscreen.result.prediction import Prediction, orders_worth, predicted, scoring_bytes
from symscreen.result.record import grammar_record, run_record
from symscreen.result.ruling import Ruling
from symscreen.result.screen_result import ScreenResult, ranking
from symscreen.result.screened import Request, Screened, scorer_of, screened, wanted_of
from symscreen.result.stream import chunk_size_for, with_margin
from symscreen.result.watch import Seen

__all__ = [
    "UNATTENDED",
    "Chosen",
    "Course",
    "ErrorControl",
    "Kept",
    "Plan",
    "Prediction",
    "Request",
    "Ruling",
    "ScreenResult",
    "Screened",
    "Seen",
    "Standing",
    "Streamed",
    "best_of",
    "chunk_size_for",
    "cut_of",
    "grammar_record",
    "none_kept",
    "orders_worth",
    "places_in",
    "predicted",
    "ranking",
    "read_control",
    "run_record",
    "scorer_of",
    "scoring_bytes",
    "screened",
    "simplest_of",
    "uncut",
    "wanted_of",
    "with_margin",
]
