"""Multi-output targets: several numeric outputs of the same rows.

Rows are sorted by the inputs, ties by the outputs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from symscreen.errors import DataError
from symscreen.messages import hint_option, name_option, quote
from symscreen.targets.base import Target, TargetColumns, sort_canonically
from symscreen.targets.numeric import NumericTarget
from symscreen.targets.ranking_notation import quote_label

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from symscreen._typing import Rows, Values
    from symscreen.data.target_source import TargetSource
    from symscreen.statistics.ranks.sorted_block import SortedBlock
    from symscreen.targets.base import ColumnScreener, RowIndices


_MAX_OUTPUTS = 100  # largest number of outputs; each is scored against every feature


@dataclass(frozen=True, eq=False)
class MultiOutputTarget(Target):
    """A target of K numeric outputs.

    Parameters
    ----------
    outputs : tuple of NumericTarget, length K
        The outputs in the order of their names, each with ascending values.
    sort_order : int32 array, shape (K, n)
        Row index of each sorted value of an output.
    sorted_positions : int32 array, shape (K, n)
        Position of each row among the sorted values of an output; the inverse of `sort_order`.

    Examples
    --------
    >>> y = build_multi_output_target({"a": np.array([3.0, 1.0, 2.0]), "b": np.array([0.0, 0.0, 1.0])})
    >>> y.name, y.sort_order.tolist(), y.outputs[0].values.tolist()
    ('a,b', [[1, 2, 0], [0, 1, 2]], [1.0, 2.0, 3.0])
    """

    outputs: tuple[NumericTarget, ...]
    sort_order: Rows
    sorted_positions: Rows
    target_type: ClassVar[str] = "several"
    prefix: ClassVar[str] = "the targets "
    description: ClassVar[str] = "several targets"
    refusal: ClassVar[str] = "does not support multi-output targets"
    pool_screeners: ClassVar[str] = "t0,xi"
    sign_conflict: ClassVar[tuple[str, str]] = ("several targets", "with all of them alike")
    combines_outputs: ClassVar[bool] = True
    has_signed_gini: ClassVar[bool] = False
    gini_mean_difference: ClassVar[float] = 1.0  # each output is normalised by its own Δ

    @classmethod
    def matches(cls, source: TargetSource) -> bool:
        """Return whether there are several named columns, or several columns of y that are no ranking."""
        return not source.has_own_option and source.is_multicolumn

    @classmethod
    def list_columns(cls, source: TargetSource) -> tuple[list[str], list[str]]:
        """List the named columns."""
        return list(source.names), []

    @classmethod
    def read(cls, source: TargetSource) -> TargetColumns:
        """Read the named columns, or the columns of y."""
        if source.y is None:
            source.require_columns(source.names, name_option("target"))
            _check_output_count(len(source.names))
            outputs = {name: source.read_numbers(name)[1] for name in source.names}
        else:
            outputs = _read_y_outputs(source)
        names = sorted(outputs)
        return TargetColumns(
            outputs,
            lambda inputs, rows: cls.build(inputs, np.stack([outputs[name][rows] for name in names]), names),
            row_filter=source.weight_filter,
        )

    @classmethod
    def build(
        cls, inputs: Sequence[Values], values: Values, names: Sequence[str]
    ) -> tuple[RowIndices, MultiOutputTarget]:
        """Sort rows with outputs of shape (K, n); return the order and the target."""
        order = sort_canonically([*inputs[1:], *values], inputs[0])
        return order, build_multi_output_target(dict(zip(names, values[:, order], strict=True)))

    def take_rows(self, inputs: Sequence[Values], rows: RowIndices) -> tuple[RowIndices, MultiOutputTarget]:
        """Build the target of some of the rows."""
        return self.build(inputs, self.values[:, rows], self.names)

    @classmethod
    def build_example(cls, z: Values) -> MultiOutputTarget:
        """Build a target that a feature determines."""
        return build_multi_output_target({"a": z, "b": -(z**3)})

    def replace_values(self, values: Sequence[Values]) -> MultiOutputTarget:
        """Return the target with other values in the same order; K arrays of shape (n,)."""
        return build_multi_output_target(dict(zip(self.names, values, strict=True)))

    def select_output(self, index: int) -> MultiOutputTarget:
        """Return one output as a multi-output target with K = 1; the rows keep their order."""
        selected = slice(index, index + 1)
        return MultiOutputTarget(
            self.outputs[selected], self.sort_order[selected], self.sorted_positions[selected]
        )

    @property
    def n(self) -> int:
        """Number of rows."""
        return int(self.sort_order.shape[1])

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the outputs."""
        return tuple(output.name for output in self.outputs)

    @property
    def name(self) -> str:
        """Names of all outputs, separated by commas, for messages and results."""
        return ",".join(map(quote_label, self.names))

    @property
    def values(self) -> Values:
        """Values in the order of the rows; shape (K, n)."""
        return np.stack(
            [
                output.values[positions]
                for output, positions in zip(self.outputs, self.sorted_positions, strict=True)
            ]
        )

    @property
    def data(self) -> Values:
        """The values; shape (K, n)."""
        return self.values

    @property
    def digest_metadata(self) -> list[object]:
        """The names of the outputs."""
        return [self.names]

    @property
    def record(self) -> dict[str, Any]:
        """Δ of each output."""
        scales = {output.name: output.gini_mean_difference for output in self.outputs}
        return {"several": {"gini_mean_difference": scales}}

    @classmethod
    def explain_directions(cls, data: Mapping[str, Any]) -> str | None:
        """Explain the column of directions."""
        del data
        return "dir.: + increases with every target, - decreases; empty if they disagree."

    @classmethod
    def explain_gini(cls, data: Mapping[str, Any], options: Mapping[str, Any]) -> str:
        """Explain the scale of the Gini correlation."""
        del data
        aggregate = "mean over" if options["aggregate"] == "mean" else "worst of"
        return f"{aggregate} the targets, without a sign; 1 is best, 0 no relation"

    @classmethod
    def describe_target(cls, data: Mapping[str, Any], options: Mapping[str, Any]) -> list[str]:
        """Say how scores by several targets are combined, if T0 is not among them."""
        del data
        if "t0" in options["screener"]:
            return []
        aggregate = "mean over" if options["aggregate"] == "mean" else "worst of"
        return [f"{options['screener'][0]}: the {aggregate} targets, without a sign."]

    def compute_ranking_metrics(self, ordered: SortedBlock) -> Values:
        """Compute Δ_k − T0_k of m features for each output; shape (K, m)."""
        from symscreen.statistics.ranks.t0 import compute_multioutput_ranking_metrics

        return compute_multioutput_ranking_metrics(ordered, self.outputs, self.sort_order)

    def compute_alignment(self, ordered: SortedBlock) -> Values:
        """Compute the mean over outputs of |Pearson's r| of m features."""
        from symscreen.statistics.ranks.sorted_block import SortedBlock

        total = np.zeros(len(ordered.values))
        for output, rows in zip(self.outputs, self.sort_order, strict=True):
            total += output.compute_alignment(SortedBlock(ordered.values[:, rows]))
        return total / len(self.outputs)

    def find_directions(self, ordered: SortedBlock, directions: NDArray[np.int8]) -> NDArray[np.int8]:
        """Return the direction on which all outputs agree, else 0."""
        del directions
        metrics = self.compute_ranking_metrics(ordered)
        rises, falls = np.max(metrics, axis=0) > 0, np.min(metrics, axis=0) < 0
        return np.asarray(rises.astype(np.int8) - falls.astype(np.int8))

    def compute_extra_columns(
        self,
        scores: Mapping[str, Values],
        blocks: Iterable[SortedBlock],
        screeners: Sequence[ColumnScreener],
    ) -> dict[str, Values]:
        """Compute the score of every column screener by each output.

        The scores have the form that `make_multioutput_screener` combines: without a sign, and T0 in units of
        the output's Δ.
        """
        del scores
        outputs = [(name, self.select_output(index)) for index, name in enumerate(self.names)]
        columns: dict[str, list[Values]] = {
            format_target_column(screener.name, name): [] for screener in screeners for name in self.names
        }
        for block in blocks:
            for screener in screeners:
                for name, output in outputs:
                    part = screener.score(screener.statistic(block, output), output)
                    columns[format_target_column(screener.name, name)].append(part)
        return {name: np.concatenate([np.zeros(0), *parts]) for name, parts in columns.items()}


def build_multi_output_target(outputs: dict[str, Values]) -> MultiOutputTarget:
    """Build a multi-output target from finite outputs of shape (n,); ties keep the order of the rows.

    Raises
    ------
    DataError
        If an output is constant.
    """
    names = sorted(outputs)
    sort_order = np.stack([np.argsort(outputs[name], kind="stable") for name in names]).astype(np.int32)
    sorted_positions = np.argsort(sort_order, axis=1, kind="stable").astype(np.int32)
    sorted_outputs = (
        NumericTarget(outputs[name][order] + 0.0, name) for name, order in zip(names, sort_order, strict=True)
    )
    return MultiOutputTarget(tuple(sorted_outputs), sort_order, sorted_positions)


def format_target_column(screener: str, target: str) -> str:
    """Return the column name of a screener's scores by one output.

    Examples
    --------
    >>> format_target_column("t0", "yield"), format_target_column("t0", "a,b")
    ('t0[yield]', 't0[`a,b`]')
    """
    return f"{screener}[{quote_label(target)}]"


def list_recorded_outputs(data: Mapping[str, Any]) -> tuple[str, ...]:
    """List the outputs of a run by the entry ``data`` of its record; empty for other target types."""
    return tuple(data["several"]["gini_mean_difference"]) if "several" in data else ()


def _read_y_outputs(source: TargetSource) -> dict[str, Values]:
    """Read the columns of y, shape (n, K).

    The columns of a data frame name the outputs, otherwise they are called y1 to yK, with an appended
    underscore if an input has that name.
    """
    y, inputs = source.y, source.inputs
    cells = y.to_numpy() if hasattr(y, "to_numpy") else y
    cells = cells if hasattr(cells, "shape") else np.array(cells, dtype=object)
    if cells.shape[0] != source.n:
        raise DataError(
            f"y has shape {cells.shape}: one row is needed for each of the {source.n} rows of {source.origin}"
        )
    _check_output_count(cells.shape[1])
    names = _name_outputs(y, cells.shape[1], inputs)
    if duplicates := [name for name in names if names.count(name) > 1]:
        raise DataError(
            f"y has more than one column named {quote(duplicates[0])}: rename or remove the others"
        )
    if conflicts := [name for name in names if name in inputs]:
        raise DataError(
            f"{quote(conflicts[0])} is the name of a column of y and of {source.origin}: rename one, or "
            f"leave the latter out{hint_option('exclude')}"
        )
    outputs = {}
    for name, output in zip(names, cells.T, strict=True):
        column = source.convert(output)
        if column.numbers is None or not column.is_numeric:
            raise DataError(f"the column {quote(name)} of y holds {column.description}: numbers are needed")
        outputs[name] = column.numbers
    return outputs


def _name_outputs(y: Any, n_outputs: int, inputs: Collection[str]) -> list[str]:
    """Return the column names of a data frame, otherwise y1, y2, … (plus underscores if in use)."""
    if hasattr(y, "columns"):
        return [str(label) for label in y.columns]
    names = []
    for number in range(1, n_outputs + 1):
        name = f"y{number}"
        while name in inputs:
            name += "_"
        names.append(name)
    return names


def _check_output_count(n_outputs: int) -> None:
    """Check that there are at most 100 outputs."""
    if n_outputs > _MAX_OUTPUTS:
        raise DataError(f"{n_outputs:,} targets are more than {_MAX_OUTPUTS}: screen them in groups")
