"""Samplers, mechanisms and oracles can be pickled, for example to run in other processes."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from symscreen.label_ranking import generators

SHAPE = (40, 4)
SAMPLERS = [
    (generators.make_binary_input_sampler(7), (40,)),
    (generators.make_truncated_gaussian_noise(0.2), (SHAPE,)),
    (generators.make_truncated_gaussian_noise(0.0, bound=0.1), (SHAPE,)),
    (generators.make_uniform_noise(0.1), (SHAPE,)),
    (generators.make_survivor_mechanism(0.6), (np.zeros((40, 1)), np.random.default_rng(1).random(SHAPE))),
    (generators.make_survivor_mechanism([0.9, 0.5, 0.1, 1.0]), (np.zeros((40, 1)), np.ones(SHAPE))),
    (generators.make_bucket_mechanism(0.5), (np.zeros((40, 1)), np.random.default_rng(1).random(SHAPE))),
]


@pytest.mark.parametrize(("sampler", "arguments"), SAMPLERS)
def test_samplers_draw_the_same_after_a_round_trip(sampler, arguments):
    restored = pickle.loads(pickle.dumps(sampler))  # noqa: S301  # what was just written
    expected = sampler(*arguments, np.random.default_rng(0))
    np.testing.assert_array_equal(restored(*arguments, np.random.default_rng(0)), expected)


@pytest.mark.parametrize("draw_oracle", [generators.draw_lfn_oracle, generators.draw_sfn_oracle])
def test_oracles_draw_the_same_after_a_round_trip(draw_oracle):
    oracle = draw_oracle(np.random.default_rng(0))
    restored = pickle.loads(pickle.dumps(oracle))  # noqa: S301  # what was just written
    examples, again = (one.draw(20, np.random.default_rng(2)) for one in (oracle, restored))
    np.testing.assert_array_equal(again.x, examples.x)
    np.testing.assert_array_equal(again.ranks, examples.ranks)
