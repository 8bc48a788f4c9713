"""Screeners: their interface, the built-in ones, and a registry."""

from symscreen.screeners.base import (
    CoefficientPath,
    JointInput,
    JointScores,
    JointScreener,
    Screener,
    ScreenerOption,
    Sign,
    compute_correlation_loss,
    compute_sign_direction,
)
from symscreen.screeners.checks import check_screener
from symscreen.screeners.column.correlation import PEARSON
from symscreen.screeners.column.multioutput_screener import TargetAggregation, make_multioutput_screener
from symscreen.screeners.column.t0 import T0
from symscreen.screeners.column.xi import XI
from symscreen.screeners.registry import SCREENERS, get_screener, load_plugin_screeners
from symscreen.screeners.screener_names import (
    AnyScreener,
    check_target_support,
    parse_screeners,
    select_prescreeners,
)

__all__ = [
    "PEARSON",
    "SCREENERS",
    "T0",
    "XI",
    "AnyScreener",
    "CoefficientPath",
    "JointInput",
    "JointScores",
    "JointScreener",
    "Screener",
    "ScreenerOption",
    "Sign",
    "TargetAggregation",
    "check_screener",
    "check_target_support",
    "compute_correlation_loss",
    "compute_sign_direction",
    "get_screener",
    "load_plugin_screeners",
    "make_multioutput_screener",
    "parse_screeners",
    "select_prescreeners",
]
