"""The options of `symscreen.discover_ode` and of the verb `ode`."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, get_args

from symscreen._option_values import EffortName, parse_name_list
from symscreen.config.fields import check_options, list_options, make_options, option
from symscreen.config.parsing import check_positive_int, check_share, write_names
from symscreen.errors import OptionError
from symscreen.messages import name_option, name_subject, quote

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from symscreen._typing import Names
    from symscreen.grammar import Grammar


_VERBS = ("ode",)


def _check_order(name: str, value: Any) -> int:
    """Refuse an order other than 1 and 2."""
    if isinstance(value, bool) or value not in {1, 2}:
        raise OptionError(f"{name_subject(name)} is {quote(value)}; give 1 or 2")
    return int(value)


@dataclass(frozen=True, kw_only=True)
class TrajectoryOptions:
    """What the columns of a table of trajectories are."""

    group: ClassVar[str] = "Data"

    time: str = option(
        "t",
        everyday=True,
        metavar="COL",
        is_column=True,
        help="The column of sample times.",
        doc="The column of sample times, which need not be evenly spaced.",
        verbs=_VERBS,
        estimator=False,
    )
    states: Names = option(
        (),
        everyday=True,
        metavar="A,B",
        parse=parse_name_list,
        help="The columns of the states, whose equations are searched.",
        type="str or sequence of str",
        verbs=_VERBS,
        estimator=False,
        write=write_names,
    )
    trajectory: str | None = option(
        None,
        everyday=True,
        metavar="COL",
        is_column=True,
        help="The column that distinguishes runs; by default the table is one run.",
        verbs=_VERBS,
        estimator=False,
    )
    inputs: Names | None = option(
        None,
        everyday=True,
        metavar="A,B",
        parse=parse_name_list,
        help="Columns that act on the system from outside; the time, too, if it acts.",
        doc="Columns that act on the system from outside, such as a measured drive. Between samples they are "
        "interpolated. Name the column of times here if the equations may depend on time.",
        type="str or sequence of str",
        verbs=_VERBS,
        estimator=False,
        write=write_names,
    )
    derivatives: Names | None = option(
        None,
        metavar="A,B",
        parse=parse_name_list,
        help="The columns of measured derivatives, one for each state in their order.",
        doc="The columns of measured derivatives, one for each state in their order; with "
        "``derivative_order=2`` of second derivatives. Equations are also proposed from them. The states "
        "decide between the systems, as without them.",
        type="str or sequence of str",
        verbs=_VERBS,
        estimator=False,
        write=write_names,
    )
    derivative_order: int = option(
        1,
        everyday=True,
        metavar="1|2",
        check=_check_order,
        help="The order of the equations: 2 for accelerations.",
        doc="The order of the equations. With 2, the equations give second derivatives, as for a pendulum "
        "whose angle alone was measured; they may use the first derivative, which is named ``dx_dt``.",
        verbs=_VERBS,
        estimator=False,
    )


@dataclass(frozen=True, kw_only=True)
class OdeOptions(TrajectoryOptions):
    """The options of a search for differential equations."""

    group: ClassVar[str] = "Model"

    operators: str | Path | Grammar | Sequence[str] = option(
        "dynamics",
        everyday=True,
        metavar="NAME|FILE|a,b",
        takes_file=True,
        help="The grammar: the name of a shipped one, a TOML file, or a list of operators.",
        type="str, Path or sequence of str",
        verbs=_VERBS,
        estimator=False,
    )
    unary: Names | None = option(
        None,
        metavar="a,b",
        parse=parse_name_list,
        help="Unary operators, in place of the grammar's.",
        type="str or sequence of str",
        verbs=_VERBS,
        estimator=False,
    )
    binary: Names | None = option(
        None,
        metavar="a,b",
        parse=parse_name_list,
        help="Binary operators, in place of the grammar's.",
        type="str or sequence of str",
        verbs=_VERBS,
        estimator=False,
    )
    max_terms: int = option(
        4,
        metavar="K",
        check=partial(check_positive_int, most=8),
        help="The largest number of terms of an equation.",
        verbs=_VERBS,
        estimator=False,
    )
    effort: EffortName = option(
        "default",
        everyday=True,
        choices=get_args(EffortName),
        help="How much is searched.",
        verbs=_VERBS,
        estimator=False,
    )
    holdout: float = option(
        0.2,
        metavar="SHARE",
        check=partial(check_share, upper=0.9),
        help="The share of samples at the end of each run that tests predictions.",
        doc="The share of samples at the end of each run, below 0.9, that the search does not use. They "
        "decide between the best systems, and tell how well the chosen one predicts. Its constants are "
        "then fitted to all samples. 0 holds out none.",
        verbs=_VERBS,
        estimator=False,
    )
    level: float = option(
        0.95,
        metavar="P",
        check=partial(check_share, upper=1.0, above_zero=True),
        help="The coverage of the intervals.",
        verbs=_VERBS,
        estimator=False,
    )
    quiet: bool = option(
        False,
        short_flag="-q",
        everyday=True,
        help="Write no notices.",
        verbs=_VERBS,
        estimator=False,
        runtime=True,
        record="never",
    )

    def __post_init__(self) -> None:
        check_options(self)
        if not self.states:
            raise OptionError(f"{name_option('states')} is missing; name the columns of the states")


def make_ode_options(keywords: Mapping[str, Any]) -> OdeOptions:
    """Build the options of `symscreen.discover_ode` from keyword arguments."""
    from symscreen.config.space_options import split_operators  # it imports numpy, which --help does not need

    return make_options(OdeOptions, split_operators(keywords), list_options(OdeOptions), "discover_ode")
