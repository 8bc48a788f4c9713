"""scikit-learn estimators, for pipelines and grid searches."""

from symscreen.estimators.classifier import SymbolicClassifier
from symscreen.estimators.regressor import SymbolicRegressor
from symscreen.estimators.screener import SymbolicScreener

__all__ = ["SymbolicClassifier", "SymbolicRegressor", "SymbolicScreener"]
