"""A random number generator for kernels: splitmix64, equal on every platform and in every thread.

Steele, Lea and Flood 2014, "Fast splittable pseudorandom number generators", OOPSLA.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from symscreen._numba import compile_kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray

    RngState = NDArray[np.uint64]


_STATE_INCREMENT = np.uint64(0x9E3779B97F4A7C15)
_MIX_1, _MIX_2 = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_30, _27, _31, _32, _11 = (np.uint64(bits) for bits in (30, 27, 31, 32, 11))
_UNIT_SCALE = 2.0**-53


def seed_stream(*key: int) -> NDArray[np.uint64]:
    """Initialise an independent stream of random numbers for a key.

    Parameters
    ----------
    *key : int
        Not negative. Streams of different keys are independent.

    Returns
    -------
    uint64 array, shape (1,)
        The state, which the functions of this module advance in place.
    """
    return np.random.SeedSequence(key).generate_state(1, np.uint64).astype(np.uint64)


@compile_kernel
def draw_bits(state: RngState) -> np.uint64:
    """Draw 64 random bits."""
    state[0] += _STATE_INCREMENT
    x: np.uint64 = state[0]
    x = (x ^ (x >> _30)) * _MIX_1
    x = (x ^ (x >> _27)) * _MIX_2
    x ^= x >> _31
    return x


@compile_kernel
def draw_integer(state: RngState, high: int) -> np.int64:
    """Draw an integer in [0, high), high < 2³¹; the bias is below high · 2⁻³²."""
    # Not int: numba would infer an unsigned type, and signed minus unsigned is a float.
    return np.int64(((draw_bits(state) >> _32) * np.uint64(high)) >> _32)


@compile_kernel
def draw_uniform(state: RngState) -> float:
    """Draw a number in (0, 1)."""
    return (np.float64(draw_bits(state) >> _11) + 0.5) * _UNIT_SCALE


@compile_kernel
def draw_normal(state: RngState) -> float:
    """Draw a standard normal number (Box and Muller 1958)."""
    radius = math.sqrt(-2.0 * math.log(draw_uniform(state)))
    return radius * math.cos(2.0 * math.pi * draw_uniform(state))
