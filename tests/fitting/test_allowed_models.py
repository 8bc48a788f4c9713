"""Which of the models of a search is selected."""

from __future__ import annotations

from symscreen.fitting import ScoredModel, allowed_models


def test_the_best_of_the_size_is_chosen_and_of_alike_errors_the_smaller_size(rng):
    targets = rng.normal(0.0, 3.0, (1, 40))
    models = [
        ScoredModel((0, 1), 0.1, 6, -9.0),
        ScoredModel((0,), 0.2, 2, -8.0),
        ScoredModel((2,), 0.3, 2, -7.0),
    ]
    assert allowed_models._select_by_error(models, [9.0, 1.0, 2.0], targets) is models[1]
    assert allowed_models._select_by_error(models, [9.0, 2.0, 1.0], targets) is models[0]
    assert allowed_models._select_by_error(models, [9.0, 1e-31, 1e-32], targets) is models[1]
    assert allowed_models._select_by_error(models, [9.0, None, 2.0], targets) is models[0]
    assert (
        allowed_models._select_by_error(models, [1.0, 3.0, 2.0], targets) is models[0]
    )  # no mean among them
