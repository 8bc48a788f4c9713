from __future__ import annotations

import numpy as np
import pytest

from symscreen.expressions.tree import parse_expression
from symscreen.fitting.laws.fitted_laws import build_law_dictionary, fit_laws
from symscreen.fitting.laws.law import Law


def test_the_cost_of_a_law_is_spread_over_its_terms():
    columns = {"x": np.arange(1.0, 9.0)}
    law = Law((parse_expression("x"), parse_expression("x**2")), has_intercept=True, search_size=1e6)
    dictionary = build_law_dictionary(fit_laws([law], columns, np.arange(8.0) ** 3))
    assert dictionary.search_sizes.prod() == pytest.approx(1e6)
    assert dictionary.n_constants.tolist() == [0, 0]


def test_laws_that_are_undefined_in_a_row_are_left_out():
    columns = {"x": np.arange(8.0)}
    law = Law((parse_expression("1/x"),), has_intercept=False, search_size=1.0)
    assert fit_laws([law], columns, np.arange(8.0)) == []


def test_laws_whose_terms_vanish_are_left_out():
    columns = {"x": np.arange(8.0)}
    law = Law((parse_expression("exp(x - 740)"),), has_intercept=False, search_size=1.0)
    assert fit_laws([law], columns, np.exp(np.arange(8.0))) == []
    large_enough = Law((parse_expression("exp(x - 690)"),), has_intercept=False, search_size=1.0)
    (fitted,) = fit_laws([large_enough], columns, np.exp(np.arange(8.0)))
    assert fitted.unexplained_share < 1e-20
