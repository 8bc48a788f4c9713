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

from symscreen.expansion.candidates import enumerate_candidates
from symscreen.expansion.generation import LayerConfig, add_layer, build_streamed_space, clean_inputs
from symscreen.expansion.nodes import build_symbol_table
from symscreen.expansion.pool import NODE_BYTES, build_first_pool
from symscreen.expansion.pruning import CandidateStatus
from symscreen.expansion.sort_orders import count_monotone_children
from symscreen.expansion.space import LayerCount

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from symscreen.expansion.generation import PoolKind
    from symscreen.expansion.pool import Pool
    from symscreen.expansion.pruning import MapFunction
    from symscreen.expressions.tree import Expression
    from symscreen.grammar import Grammar, Layer
    from symscreen.units import Units


__all__ = ["SpaceSizeEstimate", "estimate_space_size"]

_MAX_COUNTED_CANDIDATES = 1 << 23  # candidates of a layer that are judged one by one; a second or two
_N_DRAWS = 6  # of inputs that differ by rule or unit, for each number of them
_SEED = 20
_NO_PRUNING: Mapping[str, int] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class SpaceSizeEstimate:
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

    layer_counts: tuple[LayerCount, ...]
    n_exact: int
    n_members: int
    n_monotone_children: int
    n_filtered: int
    max_features: int

    @property
    def pool_bytes(self) -> int:
        """What the members of that pool take without their values."""
        return self.n_members * NODE_BYTES

    @property
    def n_features(self) -> int:
        """The features of the space."""
        return self.layer_counts[-1].n_features

    @property
    def n_candidates(self) -> int:
        """The candidates of the last layer."""
        return self.layer_counts[-1].n_generated


def estimate_space_size(
    names: Sequence[str],
    grammar: Grammar,
    layers: Sequence[Layer],
    pool_kind: PoolKind = "cumulative",
    *,
    max_bytes: int | None = None,
    map_function: MapFunction = map,
    units: Units | None = None,
    also: Sequence[Expression] = (),
    pool_sizes: Mapping[str, int] | None = None,
    keep_older: bool = False,
) -> SpaceSizeEstimate:
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
    >>> seen = estimate_space_size([f"x{i}" for i in range(100)], grammar, grammar.resolve_layers("bbb"))
    >>> seen.exact, f"{seen.features:.0e}"
    (2, '3e+18')
    """
    terms = LayerConfig(grammar, pool_kind, max_bytes, map_function=map_function)
    most = {kind: number + len(names) for kind, number in (pool_sizes or {}).items()}
    counted = _count_layers(names, layers, terms, units, also, most)
    if len(counted.layer_counts) > len(layers):
        return counted.size_estimate
    alike = units is None and not grammar.columns
    shares, judged = _estimate_excluded_shares(names, layers, terms, units, exchangeable=alike)
    seen = _extrapolate_layers(counted, layers, terms, shares, most, keep_older)
    bound = _extrapolate_layers(counted, layers, terms, [{} for _ in layers], most, keep_older)
    last = replace(seen.layer_counts[-1], n_features=seen.n_features + len(also))
    return replace(
        seen,
        layer_counts=(*seen.layer_counts[:-1], last),
        n_filtered=counted.n_filtered + judged,
        max_features=bound.n_features + len(also),
    )


@dataclass(frozen=True, slots=True)
class _ExactCounts:
    """What was counted before a layer that is too long: maybe all."""

    pool: Pool
    layer_counts: tuple[LayerCount, ...]
    n_monotone_children: int

    @property
    def n_filtered(self) -> int:
        return sum(count.n_generated for count in self.layer_counts[1:])

    @property
    def size_estimate(self) -> SpaceSizeEstimate:
        features = self.layer_counts[-1].n_features
        return SpaceSizeEstimate(
            self.layer_counts,
            len(self.layer_counts),
            len(self.pool),
            self.n_monotone_children,
            self.n_filtered,
            features,
        )


def _count_layers(
    names: Sequence[str],
    layers: Sequence[Layer],
    config: LayerConfig,
    units: Units | None,
    also: Sequence[Expression] = (),
    pool_sizes: Mapping[str, int] = _NO_PRUNING,
) -> _ExactCounts:
    """Count layer by layer, up to one that is too long or cut."""
    structure = build_symbol_table(names, config.grammar, layers)
    pool, count = clean_inputs(build_first_pool(structure, config.grammar, None, units=units))
    counts = [count]
    for number, layer in enumerate(layers, start=1):
        if (
            enumerate_candidates(layer, pool.symbols, len(pool), pool.applied_counts).total
            > _MAX_COUNTED_CANDIDATES
        ):
            break
        if number == len(layers):
            space = build_streamed_space(pool, layer, config, None, also=also, layer_counts=counts)
            return _ExactCounts(pool, space.layer_counts, count_monotone_children(space))
        if layer.kind in pool_sizes:
            break
        pool, count = add_layer(pool, layer, config, layer_number=number, next_layer=None)
        counts.append(count)
    return _ExactCounts(pool, tuple(counts), len(pool.feature_indices))


def _estimate_excluded_shares(
    names: Sequence[str],
    layers: Sequence[Layer],
    config: LayerConfig,
    units: Units | None,
    *,
    exchangeable: bool,
) -> tuple[list[dict[CandidateStatus, float]], int]:
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
        draws = 1 if exchangeable else _N_DRAWS
        chosen = [sorted(rng.choice(d, size, replace=False).tolist()) for _ in range(draws)]
        runs = [_count_layers([names[place] for place in some], layers, config, units) for some in chosen]
        judged += sum(run.n_filtered for run in runs)
        if min(len(run.layer_counts) for run in runs) <= len(layers) or judged > 2 * _MAX_COUNTED_CANDIDATES:
            break
        found[size] = [
            _sum_counts(counts) for counts in zip(*(run.layer_counts for run in runs), strict=True)
        ]
    if not found:  # not even over one input: the layers before have to do
        return [{} for _ in layers], judged
    most = max(found)
    fewer = most - 1 if exchangeable else max(1, most // 2)
    both = found[most], found.get(fewer, found[most])
    weight = 0.0 if fewer in {0, most} else (1 / most - 1 / d) / (1 / fewer - 1 / most)
    return [_extrapolate_shares(*pair, weight) for pair in zip(both[0][1:], both[1][1:], strict=True)], judged


def _sum_counts(layer_counts: Sequence[LayerCount]) -> LayerCount:
    pruned = {fate: sum(count.n_excluded.get(fate, 0) for count in layer_counts) for fate in CandidateStatus}
    generated, features = (
        sum(getattr(count, name) for count in layer_counts) for name in ("generated", "features")
    )
    return replace(layer_counts[0], n_generated=generated, n_excluded=pruned, n_features=features)


def _extrapolate_shares(
    larger: LayerCount, smaller: LayerCount, weight: float
) -> dict[CandidateStatus, float]:
    """Draw the line through two shares, each over 1/d, to where all inputs are."""
    shares = {}
    for fate in CandidateStatus:
        last = larger.n_excluded.get(fate, 0) / max(1, larger.n_generated)
        before = smaller.n_excluded.get(fate, 0) / max(1, smaller.n_generated)
        shares[fate] = min(1.0, max(0.0, last + weight * (last - before)))
    return {fate: share for fate, share in shares.items() if share}


def _extrapolate_layers(
    counted: _ExactCounts,
    layers: Sequence[Layer],
    config: LayerConfig,
    shares: Sequence[dict[CandidateStatus, float]],
    pool_sizes: Mapping[str, int],
    keep_older: bool,
) -> SpaceSizeEstimate:
    """Put the layers behind what was counted that shares tell of."""
    counts, pool = list(counted.layer_counts), counted.pool
    exact, members, tried = len(counts), len(pool), dict(pool.applied_counts)
    constants = len(pool.constant_indices)
    for number in range(exact, len(layers) + 1):
        layer, before = layers[number - 1], counts[-1].n_features
        members = before + constants
        generated = enumerate_candidates(layer, pool.symbols, members, tried).total
        kept_before = before if config.pool_kind == "cumulative" else 0
        pruned = {fate: int(share * generated) for fate, share in shares[number - 1].items()}
        features = max(0, kept_before + generated - sum(pruned.values()))
        cap = pool_sizes.get(layer.kind, features) + (before - counts[0].n_features if keep_older else 0)
        if number < len(layers) and features > cap:
            pruned[CandidateStatus.PRUNED] = features - cap
            features = cap
        if number < len(layers) and layer.kind in pool_sizes and not keep_older:
            leaves = constants + counts[0].n_features  # of what was tried before, these are sure to stay
            tried = {operator: min(size, leaves) for operator, size in tried.items()}
            members = min(members, leaves)
        counts.append(LayerCount(number, layer.kind, generated, pruned, features))
        tried = tried | dict.fromkeys(layer.operators, members) if kept_before else {}
    return SpaceSizeEstimate(tuple(counts), exact, members, counts[-2].n_features, 0, counts[-1].n_features)
