"""Keep those terms of a dictionary whose unit the sum on a scale of the target must have.

All terms of a sum have one unit. For y = C·g(S), it follows from the units of y and C. The terms of S have
the unit of C/y for an inverse and of (y/C)² for a root, and none for exponentials, logarithms and waves. The
places of terms with other units are taken by further monomials with this one.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from symscreen.expressions.tree import Call, apply_operator
from symscreen.fitting.laws.monomial_dictionary import MonomialDictionary, list_exponents_of_unit
from symscreen.fitting.laws.power_expressions import build_power_product, list_column_powers
from symscreen.fitting.laws.unit_lattice import build_unit_lattice
from symscreen.grammar import OPERATORS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from symscreen._typing import Values
    from symscreen.expressions.tree import Expression
    from symscreen.fitting.laws.monomial_dictionary import Exponents
    from symscreen.fitting.laws.target_scales import Powers, TargetScale
    from symscreen.fitting.laws.unit_lattice import UnitLattice
    from symscreen.units import Units


# the unit of the terms of S in y = g(S), as a power of the unit of y; other scales need pure numbers
_POWERS_OF_UNIT = {"id": 1.0, "inv": -1.0, "sqrt": 2.0, "inverse sqrt": -2.0, "square": 0.5}
_TOLERANCE = 1e-9  # largest difference of equal exponents of base units
_MAX_ROOT = 2  # largest denominator of an exponent in C


def restrict_factor(
    scale: TargetScale, powers: Powers, inputs: Sequence[str], units: Units
) -> tuple[Powers, Values] | None:
    """Return C and the unit of the terms of S in y = C·g(S).

    On scales of pure numbers, C is multiplied by the simplest product that makes y/C a pure number.

    Parameters
    ----------
    scale : TargetScale
        The scale.
    powers : mapping of str to Fraction
        The power product C.
    inputs : sequence of str
        Inputs that C may be multiplied by.
    units : Units
        Units of the inputs and of the target, which must be given.

    Returns
    -------
    mapping of str to Fraction
        C.
    float64 array, shape (D,)
        Exponents of the unit of the terms.

    None is returned if no product makes y/C a pure number.
    """
    factor = build_unit_lattice(units, tuple(powers))
    assert factor.target is not None  # noqa: S101  # the caller checks that the unit is given
    exponents = np.array([float(power) for power in powers.values()])
    unit = factor.target - exponents @ factor.vectors
    if scale.inverse_name in _POWERS_OF_UNIT:
        return powers, unit * _POWERS_OF_UNIT[scale.inverse_name]
    simplest = build_unit_lattice(units, tuple(inputs)).find_simplest_powers(unit)
    if simplest is None or any(power.denominator > _MAX_ROOT for power in simplest):
        return None
    product = {name: power for name, power in zip(inputs, simplest, strict=True) if power}
    names = dict.fromkeys([*powers, *product])
    zero = Fraction(0)
    return {name: powers.get(name, zero) + product.get(name, zero) for name in names}, np.zeros_like(unit)


def restrict_dictionary(
    dictionary: MonomialDictionary,
    unit: Values,
    units: Units,
    *,
    has_roots: bool,
    keeps_constant: bool = False,
) -> MonomialDictionary:
    """Return a dictionary of the same kind and at most the same size, whose terms have a unit.

    Parameters
    ----------
    dictionary : MonomialDictionary
        Terms Π xᵢ^aᵢ · f.
    unit : float64 array, shape (D,)
        The exponents of the unit.
    units : Units
        Units of the inputs.
    has_roots : bool
        Whether the new exponents may be halves.
    keeps_constant : bool
        Whether the number 1 stays, as the intercept of a sum on the scale of the target.

    Returns
    -------
    MonomialDictionary
        Each factor f has at most as many terms as before. Logarithms of inputs become logarithms of
        dimensionless groups. The same dictionary if all inputs and the unit are pure numbers.
    """
    lattice = build_unit_lattice(units, dictionary.inputs)
    if not lattice.vectors.any() and not unit.any() and all(map(lattice.has_unit, _list_factors(dictionary))):
        return dictionary
    counts: dict[Expression | None, int] = {}
    for _, factor in dictionary.terms:
        counts[factor] = counts.get(factor, 0) + 1
    zero = (Fraction(0),) * len(dictionary.inputs)
    terms: list[tuple[Exponents, Expression | None]] = []
    if keeps_constant and (zero, None) in dictionary.terms:
        terms.append((zero, None))
    for factor, count in counts.items():
        own = np.zeros_like(unit) if factor is None else lattice.compute_unit(factor)
        if own is not None:
            listed = list_exponents_of_unit(lattice, unit - own, count, has_roots=has_roots)
            terms += [(each, factor) for each in listed if (each, factor) not in terms[:1]]
    if any(map(_is_logarithm, counts)) and np.abs(unit).max(initial=0.0) <= _TOLERANCE:
        known = {factor for _, factor in terms}
        terms += [(zero, each) for each in _list_logarithms(lattice) if each not in known]
    return MonomialDictionary(dictionary.inputs, tuple(terms))


def _list_factors(dictionary: MonomialDictionary) -> list[Expression]:
    """Return the factors f other than 1, without repetitions."""
    return list(dict.fromkeys(factor for _, factor in dictionary.terms if factor is not None))


def _is_logarithm(factor: Expression | None) -> bool:
    """Return whether a factor is a logarithm."""
    return isinstance(factor, Call) and factor.operator.name == "log"


def _list_logarithms(lattice: UnitLattice) -> list[Expression]:
    """Return the logarithms of the independent dimensionless groups."""
    groups = (
        build_power_product(list_column_powers(zip(lattice.names, group, strict=True)))
        for group in lattice.independent_groups.astype(np.int64).tolist()
    )
    return [apply_operator(OPERATORS["log"], group) for group in groups]
