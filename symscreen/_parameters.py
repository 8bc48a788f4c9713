"""Base class of the learners of rankings and stages, and checks of their parameters.

Constraints are data in the form of scikit-learn's `_parameter_constraints`: a list of alternatives for each
parameter. Errors name the parameter, the value and what is expected.
"""

from __future__ import annotations

from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils._param_validation import Interval, StrOptions, make_constraint

from symscreen.errors import OptionError
from symscreen.messages import suggest

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    Constraints = Mapping[str, Sequence[Any]]


POSITIVE_INTEGER = Interval(Integral, 1, None, closed="left")
POSITIVE = Interval(Real, 0, np.inf, closed="neither")
NON_NEGATIVE = Interval(Real, 0, np.inf, closed="left")
SHARE = Interval(Real, 0, 1, closed="right")
N_JOBS = (POSITIVE_INTEGER, Interval(Integral, None, -1, closed="right"), None)


class Learner(BaseEstimator):  # type: ignore[misc]  # scikit-learn ships no types
    """Base class of the learners. A subclass is a dataclass whose fields are its parameters.

    Its `_parameter_constraints` extend those of its bases.
    """

    _parameter_constraints: ClassVar[Constraints] = {}

    def _validate_params(self) -> None:
        """Raise `OptionError` for the first parameter that meets none of its constraints."""
        constraints: dict[str, Sequence[Any]] = {}
        for base in reversed(type(self).__mro__):
            constraints |= vars(base).get("_parameter_constraints", {})
        check_parameters(constraints, self.get_params(deep=False))


def check_parameters(constraints: Constraints, values: Mapping[str, Any]) -> None:
    """Check that each value meets one of its constraints.

    Raises
    ------
    OptionError
        For the first value that meets none of its constraints.

    Examples
    --------
    >>> check_parameters({"k": [POSITIVE_INTEGER, None]}, {"k": 0})
    Traceback (most recent call last):
    symscreen.errors.OptionError: k is 0: give an integer ≥ 1, or None
    """
    for name, alternatives in constraints.items():
        value = values[name]
        is_bool = isinstance(value, bool | np.bool_)  # True is an Integral, but not meant as a number
        numbers_apart = [rule for rule in alternatives if not (is_bool and isinstance(rule, Interval))]
        if any(make_constraint(rule).is_satisfied_by(value) for rule in numbers_apart):
            continue
        words = sorted({word for rule in alternatives for word in getattr(rule, "options", ())})
        is_choice = all(rule is None or isinstance(rule, StrOptions) for rule in alternatives)
        if is_choice or (isinstance(value, str) and len(words) > 1):
            raise OptionError(f"{name} is {value!r}{suggest(str(value), words)}")
        *others, last = map(_describe_rule, alternatives)
        raise OptionError(f"{name} is {value!r}: give {', '.join(others)}{', or ' if others else ''}{last}")


def _describe_rule(rule: Any) -> str:
    """Describe one alternative of a constraint."""
    if isinstance(rule, StrOptions):
        return " or ".join(map(repr, sorted(rule.options)))
    if not isinstance(rule, Interval):
        return "True or False" if rule == "boolean" else str(rule)
    bounds = []
    if rule.left is not None:
        bounds.append(f"{'≥' if rule.closed in {'left', 'both'} else 'above'} {rule.left:g}")
    if rule.right is not None and rule.right < np.inf:
        bounds.append(f"{'up to' if rule.closed in {'right', 'both'} else 'below'} {rule.right:g}")
    return f"{'an integer' if rule.type is Integral else 'a number'} {' and '.join(bounds)}"
