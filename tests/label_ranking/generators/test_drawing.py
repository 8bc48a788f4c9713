import numpy as np
import pytest

from symscreen.errors import OptionError
from symscreen.label_ranking import generators


def _calls(n, rng):
    return {
        "mallows": lambda: generators.draw_mallows([1, 2, 3], 1.0, n, rng),
        "plackett_luce": lambda: generators.draw_plackett_luce([1.0, 2.0], n, rng),
        "inputs": lambda: generators.draw_piecewise_partition(1, 3, np.random.default_rng(0)).draw_inputs(
            n, rng
        ),
        "draw": lambda: generators.draw_sfn_oracle(np.random.default_rng(0)).draw(n, rng),
    }


@pytest.mark.parametrize("name", ["mallows", "plackett_luce", "inputs", "draw"])
@pytest.mark.parametrize("n", [-1, 2.0, "3", True, None])
def test_a_number_of_rows_that_is_none_is_refused(name, n, rng):
    with pytest.raises(OptionError, match=r"n is .*: give an integer ≥ 0"):
        _calls(n, rng)[name]()


@pytest.mark.parametrize("name", ["mallows", "plackett_luce", "inputs", "draw"])
@pytest.mark.parametrize("rng", [7, None, np.random.RandomState(0)])
def test_a_seed_is_no_generator(name, rng):
    shown = 7 if rng == 7 else 0
    with pytest.raises(OptionError, match=rf"give a numpy generator, numpy.random.default_rng\({shown}\)"):
        _calls(3, rng)[name]()


@pytest.mark.parametrize(
    "make",
    [
        generators.draw_sfn_oracle,
        generators.draw_lfn_oracle,
        lambda rng: generators.draw_piecewise_partition(1, 3, rng),
    ],
)
def test_what_is_drawn_once_needs_a_generator_too(make):
    with pytest.raises(OptionError, match="rng is 3: give a numpy generator"):
        make(3)
