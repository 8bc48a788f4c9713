"""Results: the bounded merge, rank classes, joint verdicts, the record, and what a screen returns."""

from symscreen.result.best import best_of, simplest_of
from symscreen.result.class_places import class_place
from symscreen.result.classes import signatures_of
from symscreen.result.course import UNATTENDED, Course, Standing
from symscreen.result.cutting import Chosen, cut_of, uncut
from symscreen.result.error_control import ErrorControl, read_control
from symscreen.result.further import HARRELL_C
from symscreen.result.kept import Kept, none_kept
from symscreen.result.members import (
    MEMBER_COLUMNS,
    Members,
    check_members,
    members_of,
    members_record,
    stored_members,
)
from symscreen.result.merging import Streamed
from symscreen.result.partial import partial_in_brief, partial_record, partial_told
from symscreen.result.places import places_in
from symscreen.result.plan import Plan
from symscreen.result.power import Power
from symscreen.result.prediction import Prediction, foretold, orders_worth, predicted, scoring_bytes
from symscreen.result.record import grammar_record, run_record
from symscreen.result.ruling import Ruling
from symscreen.result.screen_result import ScreenResult, ranking
from symscreen.result.screened import Request, Screened, scorer_of, screened, wanted_of
from symscreen.result.stream import chunk_size_for, with_margin
from symscreen.result.views import Pictures, Views
from symscreen.result.watch import Seen

__all__ = [
    "HARRELL_C",
    "MEMBER_COLUMNS",
    "UNATTENDED",
    "Chosen",
    "Course",
    "ErrorControl",
    "Kept",
    "Members",
    "Pictures",
    "Plan",
    "Power",
    "Prediction",
    "Request",
    "Ruling",
    "ScreenResult",
    "Screened",
    "Seen",
    "Standing",
    "Streamed",
    "Views",
    "best_of",
    "check_members",
    "chunk_size_for",
    "class_place",
    "cut_of",
    "foretold",
    "grammar_record",
    "members_of",
    "members_record",
    "none_kept",
    "orders_worth",
    "partial_in_brief",
    "partial_record",
    "partial_told",
    "places_in",
    "predicted",
    "ranking",
    "read_control",
    "run_record",
    "scorer_of",
    "scoring_bytes",
    "screened",
    "signatures_of",
    "simplest_of",
    "stored_members",
    "uncut",
    "wanted_of",
    "with_margin",
]
