"""Estimate the size of a space before it is grown: small layers are counted, large ones extrapolated.

As far as structure goes, all inputs are exchangeable. So the share of a layer's candidates that is excluded
hardly depends on the number of inputs d. It approaches a limit with 1/d. Layers that are too long to be
counted are estimated from the shares of the same layers over fewer inputs.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np

from symscreen.expansion._kernels import CandidateStatus
from symscreen.expansion.candidates import enumerate_candidates
from symscreen.expansion.generation import LayerConfig, add_layer, build_streamed_space, clean_inputs
from symscreen.expansion.nodes import build_symbol_table
from symscreen.expansion.pool import NODE_BYTES, build_first_pool
from symscreen.expansion.sort_orders import count_monotone_children
from symscreen.expansion.space import LayerCount

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from symscreen.config.screen_options import SpaceOptions
    from symscreen.expansion.candidate_filter import MapFunction
    from symscreen.expansion.generation import PoolKind
    from symscreen.expansion.pool import Pool
    from symscreen.expressions.tree import Expression
    from symscreen.grammar import Grammar, Layer
    from symscreen.units import Units


_MAX_COUNTED_CANDIDATES = 1 << 23  # candidates of a layer that is counted exactly; takes a second or two
_MAX_MODELLED_CANDIDATES = 1 << 19  # candidates that are filtered for a model of many pool sizes
_N_DRAWS = 6  # random subsets per number of inputs, if rules or units distinguish the inputs
_SEED = 20  # seed of the random subsets
_NO_PRUNING: Mapping[str, int] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class SpaceSizeEstimate:
    """Estimated size of a space.

    Parameters
    ----------
    layer_counts : tuple of LayerCount
        Counts of the inputs and of each layer.
    n_exact : int
        Number of leading entries that were counted exactly. The others are estimates, except that the number
        of candidates of the first of them is exact.
    n_members : int
        Number of members, including constants, of the pool that the last layer is applied to.
    n_monotone_children : int
        Number of features of the space whose row order follows from a member of the pool.
    n_filtered : int
        Number of candidates that were filtered to compute the estimate.
    max_features : int
        Upper bound of the number of features. If all layers were counted, their number. Otherwise the number
        if no candidate of the estimated layers were excluded.
    """

    layer_counts: tuple[LayerCount, ...]
    n_exact: int
    n_members: int
    n_monotone_children: int
    n_filtered: int
    max_features: int

    @property
    def pool_bytes(self) -> int:
        """Memory in bytes of the members of that pool, without their values."""
        return self.n_members * NODE_BYTES

    @property
    def n_features(self) -> int:
        """Number of features of the space."""
        return self.layer_counts[-1].n_features

    @property
    def n_candidates(self) -> int:
        """Number of candidates of the last layer."""
        return self.layer_counts[-1].n_generated


def estimate_space_size(
    names: Sequence[str],
    grammar: Grammar,
    layers: Sequence[Layer],
    pool_kind: PoolKind = "cumulative",
    *,
    options: SpaceOptions,
    max_bytes: int | None = None,
    map_function: MapFunction = map,
    units: Units | None = None,
    also: Sequence[Expression] = (),
    keep_older: bool = False,
) -> SpaceSizeEstimate:
    """Estimate the size of a space by structure; if all layers are counted, this is an upper bound.

    Parameters
    ----------
    names, grammar, layers, pool_kind, max_bytes, map_function, units, also
        See `expand`.
    options : SpaceOptions
        Options of the space. `pool_size` is the number of features, without the inputs, that pruning keeps
        after each kind of layer but the last.
    keep_older : bool
        Whether pruning also keeps all older features, as pruning by joint screeners does.

    Returns
    -------
    SpaceSizeEstimate
        Equal to the counts of `expand` without values if no layer has more than 8 million candidates. The
        layers after such a layer are estimates. In the tests, their error is at most 3 % if the inputs are
        exchangeable and two of them can be counted, and at most 60 % if column rules or units distinguish
        the inputs. A second such layer multiplies the error. Pruning adds an error too, because the features
        that it keeps depend on the target, and may have fewer duplicates.

    Examples
    --------
    >>> from symscreen.grammar import load_grammar
    >>> from symscreen.config.screen_options import SpaceOptions
    >>> grammar, names = load_grammar("basic"), [f"x{i}" for i in range(100)]
    >>> estimate = estimate_space_size(names, grammar, grammar.resolve_layers("bbb"), options=SpaceOptions())
    >>> estimate.n_exact, f"{estimate.n_features:.0e}"
    (2, '3e+18')
    """
    config = LayerConfig(grammar, pool_kind, options, max_bytes, map_function=map_function)
    pool_sizes = options.pool_sizes or {}
    counted = _count_layers(names, layers, config, units, also, pool_sizes)
    if len(counted.layer_counts) > len(layers):
        return counted.size_estimate
    shares, n_filtered = _estimate_excluded_shares(names, layers, config, units, 2 * _MAX_COUNTED_CANDIDATES)
    estimate = _extrapolate_layers(counted, layers, config, shares, pool_sizes, keep_older=keep_older)
    bound = _extrapolate_layers(
        counted, layers, config, [{} for _ in layers], pool_sizes, keep_older=keep_older
    )
    last_count = replace(estimate.layer_counts[-1], n_features=estimate.n_features + len(also))
    return replace(
        estimate,
        layer_counts=(*estimate.layer_counts[:-1], last_count),
        n_filtered=counted.n_filtered + n_filtered,
        max_features=bound.n_features + len(also),
    )


def bound_space_size(
    names: Sequence[str],
    grammar: Grammar,
    layers: Sequence[Layer],
    pool_kind: PoolKind = "cumulative",
    *,
    options: SpaceOptions,
    units: Units | None = None,
) -> int:
    """Compute the number of features if no candidate were excluded, from the numbers of operators alone.

    Examples
    --------
    >>> from symscreen.grammar import load_grammar
    >>> from symscreen.config.screen_options import SpaceOptions
    >>> grammar, options = load_grammar("ablation"), SpaceOptions()
    >>> bound_space_size(["x1", "x2"], grammar, grammar.resolve_layers("bu"), "strict", options=options)
    12
    """
    config = LayerConfig(grammar, pool_kind, options, None)
    model = PrunedSizeModel(layers, config, _count_inputs(names, layers, config, units), [{} for _ in layers])
    return model.estimate({}).n_features


@dataclass(frozen=True, eq=False)
class PrunedSizeModel:
    """Estimate the size of a space for different pool sizes, from the same shares of excluded candidates.

    Parameters
    ----------
    layers : sequence of Layer
        The layers.
    config : LayerConfig
        How layers are grown.
    inputs : _ExactCounts
        The pool of the inputs.
    shares : sequence of dict of CandidateStatus to float
        Share of the candidates that each layer excludes.
    """

    layers: Sequence[Layer]
    config: LayerConfig
    inputs: _ExactCounts
    shares: Sequence[dict[CandidateStatus, float]]

    def estimate(self, pool_sizes: Mapping[str, int]) -> SpaceSizeEstimate:
        """Estimate the size of the space that is pruned to `pool_sizes` (see `SpaceOptions.pool_sizes`)."""
        return _extrapolate_layers(
            self.inputs, self.layers, self.config, self.shares, pool_sizes, keep_older=False
        )


def build_pruned_size_model(
    names: Sequence[str],
    grammar: Grammar,
    layers: Sequence[Layer],
    pool_kind: PoolKind = "cumulative",
    *,
    options: SpaceOptions,
    map_function: MapFunction = map,
    units: Units | None = None,
) -> PrunedSizeModel:
    """Build the model of a space: see `estimate_space_size` for the arguments.

    Examples
    --------
    >>> from symscreen.grammar import load_grammar
    >>> from symscreen.config.screen_options import SpaceOptions
    >>> grammar, names = load_grammar("basic"), [f"x{i}" for i in range(100)]
    >>> model = build_pruned_size_model(names, grammar, grammar.resolve_layers("ub"), options=SpaceOptions())
    >>> [f"{model.estimate({'inputs': 50, 'u': size}).n_features:.2g}" for size in (50, 100)]
    ['2.7e+04', '6e+04']
    """
    config = LayerConfig(grammar, pool_kind, options, None, map_function=map_function)
    shares, _ = _estimate_excluded_shares(names, layers, config, units, _MAX_MODELLED_CANDIDATES)
    return PrunedSizeModel(layers, config, _count_inputs(names, layers, config, units), shares)


@dataclass(frozen=True, slots=True)
class _ExactCounts:
    """Exact counts of the layers before the first that is too long, or of all layers."""

    pool: Pool
    layer_counts: tuple[LayerCount, ...]
    n_monotone_children: int

    @property
    def n_filtered(self) -> int:
        return sum(count.n_generated for count in self.layer_counts[1:])

    @property
    def size_estimate(self) -> SpaceSizeEstimate:
        n_features = self.layer_counts[-1].n_features
        return SpaceSizeEstimate(
            self.layer_counts,
            len(self.layer_counts),
            len(self.pool),
            self.n_monotone_children,
            self.n_filtered,
            n_features,
        )


def _count_layers(
    names: Sequence[str],
    layers: Sequence[Layer],
    config: LayerConfig,
    units: Units | None,
    also: Sequence[Expression] = (),
    pool_sizes: Mapping[str, int] = _NO_PRUNING,
) -> _ExactCounts:
    """Count layer by layer, up to one that is too long or pruned."""
    inputs = _count_inputs(names, layers, config, units)
    if pool_sizes.get("inputs", len(names)) < len(names):
        return inputs
    pool, layer_counts = inputs.pool, list(inputs.layer_counts)
    for layer_number, layer in enumerate(layers, start=1):
        if (
            enumerate_candidates(layer, pool.symbols, len(pool), pool.applied_counts).total
            > _MAX_COUNTED_CANDIDATES
        ):
            break
        if layer_number == len(layers):
            space = build_streamed_space(pool, layer, config, None, also=also, layer_counts=layer_counts)
            return _ExactCounts(pool, space.layer_counts, count_monotone_children(space))
        if layer.kind in pool_sizes:
            break
        pool, count = add_layer(pool, layer, config, layer_number=layer_number, next_layer=None)
        layer_counts.append(count)
    return _ExactCounts(pool, tuple(layer_counts), len(pool.feature_indices))


def _count_inputs(
    names: Sequence[str], layers: Sequence[Layer], config: LayerConfig, units: Units | None
) -> _ExactCounts:
    """Count the inputs, before any layer."""
    symbols = build_symbol_table(names, config.grammar, layers)
    pool, count = clean_inputs(build_first_pool(symbols, config.grammar, None, units=units))
    return _ExactCounts(pool, (count,), len(pool.feature_indices))


def _estimate_excluded_shares(
    names: Sequence[str],
    layers: Sequence[Layer],
    config: LayerConfig,
    units: Units | None,
    max_filtered: int,
) -> tuple[list[dict[CandidateStatus, float]], int]:
    """Estimate the share of candidates that each layer excludes, from runs over fewer inputs.

    At most about `max_filtered` candidates are filtered.

    Returns
    -------
    list of dict of CandidateStatus to float
        Shares of each layer, extrapolated from the two largest suitable numbers of inputs.
    int
        Number of candidates filtered.
    """
    rng, d = np.random.default_rng(_SEED), len(names)
    exchangeable = units is None and not config.grammar.columns
    counts_by_size: dict[int, list[LayerCount]] = {}
    n_filtered = 0
    for size in range(1, d):
        draws = 1 if exchangeable else _N_DRAWS
        subsets = [sorted(rng.choice(d, size, replace=False).tolist()) for _ in range(draws)]
        runs = [
            _count_layers([names[index] for index in subset], layers, config, units) for subset in subsets
        ]
        n_filtered += sum(run.n_filtered for run in runs)
        if min(len(run.layer_counts) for run in runs) <= len(layers) or n_filtered > max_filtered:
            break
        counts_by_size[size] = [
            _sum_counts(counts) for counts in zip(*(run.layer_counts for run in runs), strict=True)
        ]
    if not counts_by_size:  # even one input is too many, so nothing is excluded
        return [{} for _ in layers], n_filtered
    large = max(counts_by_size)
    small = large - 1 if exchangeable else max(1, large // 2)
    count_pair = counts_by_size[large], counts_by_size.get(small, counts_by_size[large])
    weight = 0.0 if small in {0, large} else (1 / large - 1 / d) / (1 / small - 1 / large)
    return [
        _extrapolate_shares(*pair, weight) for pair in zip(count_pair[0][1:], count_pair[1][1:], strict=True)
    ], n_filtered


def _sum_counts(layer_counts: Sequence[LayerCount]) -> LayerCount:
    """Add up the counts of the same layer of several runs."""
    n_excluded = {
        status: sum(count.n_excluded.get(status, 0) for count in layer_counts) for status in CandidateStatus
    }
    n_generated, n_features = (
        sum(getattr(count, name) for count in layer_counts) for name in ("n_generated", "n_features")
    )
    return replace(layer_counts[0], n_generated=n_generated, n_excluded=n_excluded, n_features=n_features)


def _extrapolate_shares(
    larger: LayerCount, smaller: LayerCount, weight: float
) -> dict[CandidateStatus, float]:
    """Extrapolate the shares of two runs linearly in 1/d to all inputs."""
    shares = {}
    for status in CandidateStatus:
        large_share = larger.n_excluded.get(status, 0) / max(1, larger.n_generated)
        small_share = smaller.n_excluded.get(status, 0) / max(1, smaller.n_generated)
        shares[status] = min(1.0, max(0.0, large_share + weight * (large_share - small_share)))
    return {status: share for status, share in shares.items() if share}


def _extrapolate_layers(
    counted: _ExactCounts,
    layers: Sequence[Layer],
    config: LayerConfig,
    shares: Sequence[dict[CandidateStatus, float]],
    pool_sizes: Mapping[str, int],
    *,
    keep_older: bool,
) -> SpaceSizeEstimate:
    """Append estimates of the remaining layers to the exact counts."""
    layer_counts, pool = list(counted.layer_counts), counted.pool
    n_exact, n_members, applied_counts = len(layer_counts), len(pool), dict(pool.applied_counts)
    n_constants = len(pool.constant_indices)
    if n_exact == 1 and not keep_older:
        layer_counts[0] = _prune_input_count(layer_counts[0], pool_sizes)
    n_inputs = layer_counts[0].n_features  # they stay in addition to what a layer may keep
    for layer_number in range(n_exact, len(layers) + 1):
        layer, n_before = layers[layer_number - 1], layer_counts[-1].n_features
        n_members = n_before + n_constants
        n_generated = enumerate_candidates(layer, pool.symbols, n_members, applied_counts).total
        kept_before = n_before if config.pool_kind == "cumulative" else 0
        n_excluded = {status: int(share * n_generated) for status, share in shares[layer_number - 1].items()}
        n_features = max(0, kept_before + n_generated - sum(n_excluded.values()))
        cap = n_features
        if layer.kind in pool_sizes:
            cap = pool_sizes[layer.kind] + (n_before if keep_older else n_inputs)
        if layer_number < len(layers) and n_features > cap:
            n_excluded[CandidateStatus.PRUNED] = n_features - cap
            n_features = cap
        if layer_number < len(layers) and layer.kind in pool_sizes and not keep_older:
            n_leaves = n_constants + n_inputs  # pruning always keeps these members
            applied_counts = {operator: min(size, n_leaves) for operator, size in applied_counts.items()}
            n_members = min(n_members, n_leaves)
        layer_counts.append(LayerCount(layer_number, layer.kind, n_generated, n_excluded, n_features))
        applied_counts = applied_counts | dict.fromkeys(layer.operators, n_members) if kept_before else {}
    return SpaceSizeEstimate(
        tuple(layer_counts), n_exact, n_members, layer_counts[-2].n_features, 0, layer_counts[-1].n_features
    )


def _prune_input_count(count: LayerCount, pool_sizes: Mapping[str, int]) -> LayerCount:
    """Limit the number of inputs to the pool size for them, if there is one."""
    n_pruned = max(0, count.n_features - pool_sizes.get("inputs", count.n_features))
    if not n_pruned:
        return count
    return replace(
        count,
        n_excluded=count.n_excluded | {CandidateStatus.PRUNED: n_pruned},
        n_features=count.n_features - n_pruned,
    )
