"""scikit-learn estimators: symscreen at home in pipelines and grids."""

from symscreen.estimators.classifier import SymbolicClassifier
from symscreen.estimators.regressor import SymbolicRegressor
from symscreen.estimators.screener import SymbolicScreener

__all__ = ["SymbolicClassifier", "SymbolicRegressor", "SymbolicScreener"]
