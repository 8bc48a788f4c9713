"""Results: the bounded merge, rank classes, the record, and what a screen returns."""

from symscreen.result.kept import Kept, best_classes, every_feature, joined, merged_when_due, none_kept
from symscreen.result.plan import Plan, plan_of
from symscreen.result.record import run_record
from symscreen.result.scoring import Scored, Scorer
from symscreen.result.screen_result import ScreenResult, ranking
from symscreen.result.thin import merge_numeric_copies

__all__ = [
    "Kept",
    "Plan",
    "Scored",
    "Scorer",
    "ScreenResult",
    "best_classes",
    "every_feature",
    "joined",
    "merge_numeric_copies",
    "merged_when_due",
    "none_kept",
    "plan_of",
    "ranking",
    "run_record",
]
