"""How large a space will be, before it is grown: small layers counted, large ones estimated.

By structure alone every input is as good as another, so what share of a layer's candidates is left out hardly
depends on how many inputs there are: towards many it tends to a limit with 1/d. Layers too long to be judged
in a moment are estimated from the shares of the same layers over fewer inputs.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np

from symscreen.expansion.candidates import candidates_of
from symscreen.expansion.fates import Fate
from symscreen.expansion.grow import Terms, inputs_of, last_layer, with_layer
from symscreen.expansion.nodes import structure_of
from symscreen.expansion.orders import members_that_follow
from symscreen.expansion.pool import NODE_BYTES, first_pool
from symscreen.expansion.space import LayerCount

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from symscreen.expansion.duplicates import Spread
    from symscreen.expansion.layer import PoolKind
    from symscreen.expansion.pool import Pool
    from symscreen.expression import Expression
    from symscreen.grammar import Grammar, Layer
    from symscreen.units import Units

__all__ = ["Outlook", "foresee"]

_COUNTED = 1 << 23  # candidates of a layer that are judged one by one; a second or two
_DRAWS = 6  # of inputs that differ by rule or unit, for each number of them
_SEED = 20
_UNCUT: Mapping[str, int] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Outlook:
    """How large a space will be.

    Parameters
    ----------
    counts : tuple of LayerCount
        The inputs and each layer.
    exact : int
        How many of these, from the first, were counted; the rest are estimates. What the first of the rest
        generates was counted, too.
    members : int
        Members of the pool that the last layer is applied to, constants included.
    follow : int
        Features of the space that are ordered as a member of the pool.
    judged : int
        Candidates that were judged to find out.
    most : int
        The features of the space are no more, whatever is left out: its own where all is counted, else what
        it would have if nothing were left out behind what is counted.
    """

    counts: tuple[LayerCount, ...]
    exact: int
    members: int
    follow: int
    judged: int
    most: int

    @property
    def pool_bytes(self) -> int:
        """What the members of that pool take without their values."""
        return self.members * NODE_BYTES

    @property
    def features(self) -> int:
        """The features of the space."""
        return self.counts[-1].features

    @property
    def candidates(self) -> int:
        """The candidates of the last layer."""
        return self.counts[-1].generated


def foresee(
    names: Sequence[str],
    grammar: Grammar,
    layers: Sequence[Layer],
    pool_kind: PoolKind = "cumulative",
    *,
    max_bytes: int | None = None,
    spread: Spread = map,
    units: Units | None = None,
    also: Sequence[Expression] = (),
    keeps: Mapping[str, int] | None = None,
    older_stay: bool = False,
) -> Outlook:
    """Tell how large a space will be by structure, which bounds what values will leave where all is counted.

    Parameters
    ----------
    names, grammar, layers, pool_kind, max_bytes, spread, units, also
        As of `expand`.
    keeps : mapping of str to int, optional
        How many features a cut leaves after each kind of layer but the last, inputs apart.
    older_stay : bool
        Whether a cut leaves all older features, too, as one by joint screeners does.

    Returns
    -------
    Outlook
        As `expand` counts without values where no layer has more than 8 million candidates. The layers behind
        such a one are estimated: within 3 % in the tests where inputs are alike and two of them can be
        counted, and within 60 % where column rules or units tell them apart. A second such layer multiplies
        the error. So does a cut: what it keeps depends on the response, and may have fewer duplicates.

    Examples
    --------
    >>> from symscreen.grammar import load_grammar
    >>> grammar = load_grammar("basic")
    >>> seen = foresee([f"x{i}" for i in range(100)], grammar, grammar.parsed_layers("bbb"))
    >>> seen.exact, f"{seen.features:.0e}"
    (2, '3e+18')
    """
    terms = Terms(grammar, pool_kind, max_bytes, spread=spread)
    most = {kind: number + len(names) for kind, number in (keeps or {}).items()}
    counted = _counted(names, layers, terms, units, also, most)
    if len(counted.counts) > len(layers):
        return counted.outlook
    alike = units is None and not grammar.columns
    shares, judged = _shares(names, layers, terms, units, alike=alike)
    seen = _estimated(counted, layers, terms, shares, most, older_stay)
    bound = _estimated(counted, layers, terms, [{} for _ in layers], most, older_stay)
    last = replace(seen.counts[-1], features=seen.features + len(also))
    return replace(
        seen,
        counts=(*seen.counts[:-1], last),
        judged=counted.judged + judged,
        most=bound.features + len(also),
    )


@dataclass(frozen=True, slots=True)
class _Counted:
    """What was counted before a layer that is too long: maybe all."""

    pool: Pool
    counts: tuple[LayerCount, ...]
    follow: int

    @property
    def judged(self) -> int:
        return sum(count.generated for count in self.counts[1:])

    @property
    def outlook(self) -> Outlook:
        features = self.counts[-1].features
        return Outlook(self.counts, len(self.counts), len(self.pool), self.follow, self.judged, features)


def _counted(
    names: Sequence[str],
    layers: Sequence[Layer],
    terms: Terms,
    units: Units | None,
    also: Sequence[Expression] = (),
    most: Mapping[str, int] = _UNCUT,
) -> _Counted:
    """Count layer by layer, up to one that is too long or cut."""
    structure = structure_of(names, terms.grammar, layers)
    pool, count = inputs_of(first_pool(structure, terms.grammar, None, units=units))
    counts = [count]
    for number, layer in enumerate(layers, start=1):
        if candidates_of(layer, pool.structure, len(pool), pool.tried).total > _COUNTED:
            break
        if number == len(layers):
            space = last_layer(pool, layer, terms, None, also=also, counts=counts)
            return _Counted(pool, space.counts, members_that_follow(space))
        if layer.kind in most:
            break
        pool, count = with_layer(pool, layer, terms, number=number, following=None)
        counts.append(count)
    return _Counted(pool, tuple(counts), len(pool.features))


def _shares(
    names: Sequence[str], layers: Sequence[Layer], terms: Terms, units: Units | None, *, alike: bool
) -> tuple[list[dict[Fate, float]], int]:
    """Find the shares that each layer loses over the most inputs that can be counted, and go on from fewer.

    Returns
    -------
    list of dict of Fate to float
        For each layer; of those that were counted over fewer than all of the inputs.
    int
        Candidates judged.
    """
    rng, d = np.random.default_rng(_SEED), len(names)
    found: dict[int, list[LayerCount]] = {}
    judged = 0
    for size in range(1, d):
        draws = 1 if alike else _DRAWS
        chosen = [sorted(rng.choice(d, size, replace=False).tolist()) for _ in range(draws)]
        runs = [_counted([names[place] for place in some], layers, terms, units) for some in chosen]
        judged += sum(run.judged for run in runs)
        if min(len(run.counts) for run in runs) <= len(layers) or judged > 2 * _COUNTED:
            break
        found[size] = [_added(counts) for counts in zip(*(run.counts for run in runs), strict=True)]
    if not found:  # not even over one input: the layers before have to do
        return [{} for _ in layers], judged
    most = max(found)
    fewer = most - 1 if alike else max(1, most // 2)
    both = found[most], found.get(fewer, found[most])
    weight = 0.0 if fewer in {0, most} else (1 / most - 1 / d) / (1 / fewer - 1 / most)
    return [_towards(*pair, weight) for pair in zip(both[0][1:], both[1][1:], strict=True)], judged


def _added(counts: Sequence[LayerCount]) -> LayerCount:
    pruned = {fate: sum(count.pruned.get(fate, 0) for count in counts) for fate in Fate}
    generated, features = (
        sum(getattr(count, name) for count in counts) for name in ("generated", "features")
    )
    return replace(counts[0], generated=generated, pruned=pruned, features=features)


def _towards(most: LayerCount, fewer: LayerCount, weight: float) -> dict[Fate, float]:
    """Draw the line through two shares, each over 1/d, to where all inputs are."""
    shares = {}
    for fate in Fate:
        last = most.pruned.get(fate, 0) / max(1, most.generated)
        before = fewer.pruned.get(fate, 0) / max(1, fewer.generated)
        shares[fate] = min(1.0, max(0.0, last + weight * (last - before)))
    return {fate: share for fate, share in shares.items() if share}


def _estimated(
    counted: _Counted,
    layers: Sequence[Layer],
    terms: Terms,
    shares: Sequence[dict[Fate, float]],
    most: Mapping[str, int],
    older_stay: bool,
) -> Outlook:
    """Put the layers behind what was counted that shares tell of."""
    counts, pool = list(counted.counts), counted.pool
    exact, members, tried = len(counts), len(pool), dict(pool.tried)
    constants = len(pool.constants)
    for number in range(exact, len(layers) + 1):
        layer, before = layers[number - 1], counts[-1].features
        members = before + constants
        generated = candidates_of(layer, pool.structure, members, tried).total
        kept_before = before if terms.pool_kind == "cumulative" else 0
        pruned = {fate: int(share * generated) for fate, share in shares[number - 1].items()}
        features = max(0, kept_before + generated - sum(pruned.values()))
        cap = most.get(layer.kind, features) + (before - counts[0].features if older_stay else 0)
        if number < len(layers) and features > cap:
            pruned[Fate.CUT] = features - cap
            features = cap
        if number < len(layers) and layer.kind in most and not older_stay:
            leaves = constants + counts[0].features  # of what was tried before, these are sure to stay
            tried = {operator: min(size, leaves) for operator, size in tried.items()}
            members = min(members, leaves)
        counts.append(LayerCount(number, layer.kind, generated, pruned, features))
        tried = tried | dict.fromkeys(layer.operators, members) if kept_before else {}
    return Outlook(tuple(counts), exact, members, counts[-2].features, 0, counts[-1].features)
