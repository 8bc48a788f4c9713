"""What `why` answers: one word of a fixed set, what people read, and the facts."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, get_args

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["ANSWERS", "Answer", "Match", "Why"]

Answer = Literal[
    "ranked", "duplicate", "not shown", "dropped", "not generated", "undefined", "constant", "forbidden",
    "too complex", "cut", "no unit", "other units", "thinned", "not passing",
]  # fmt: skip
Match = Literal["same", "algebra", "values"]

ANSWERS: tuple[Answer, ...] = get_args(Answer)


@dataclass(frozen=True, kw_only=True)
class Why:
    """Where a formula stands in a screen, or why it is not there.

    Facts that do not belong to the answer are empty.

    Parameters
    ----------
    answer : str
        ``ranked``: it is in the space, perhaps written otherwise. ``duplicate``: another formula has its
        values on these data and stands for it. ``not shown``: it is in the space, but was not among the
        features that the joint screener that ranks was shown. ``dropped``: a race or sieve dropped it.
        ``not generated``: operators, constants, inputs or layers are missing. ``undefined``: it is outside
        its domain in some rows. ``constant``: it, or a part of it, is constant on these data. ``forbidden``:
        a rule of the grammar bars it. ``too complex``: over the cap. ``cut``: a part of it was lost between
        two layers. ``no unit``: units are asked for, and a part of it breaks a rule of theirs.
        ``other units``: it has a unit, but not the one asked for. ``thinned``: it is ranked, but left out of
        the list for a better one that it correlates with. ``not passing``: it is ranked, but left out for it
        does not pass the false discovery rate, and others do.
    text : str
        For people: the first line is the answer, in one sentence.
    formula : str
        What was asked, in the one notation.
    found_as : str
        The formula of the space that is equal to it: by algebra, or on these data.
    match : {"same", "algebra", "values"} or None
        How `found_as` was found.
    rank : int or None
        Its class's rank in the screen, from 1, before anything is left out; where ``top="all"``, its own.
        None, too, where more classes stand before it than memory holds: `ahead` and `places` then tell what
        is known.
    ahead : int or None
        How many classes are known to stand before it, where its rank is not known.
    features : int or None
        How many features were scored.
    stands_for : str
        The member of its class that the list shows.
    class_size : int or None
        How many features are in its class.
    direction : int
        +1 where it rises with the response, −1 where it falls; 0 where that is not known.
    scores : mapping of str to float
        Of each screener; NaN where a joint one was not shown it.
    selected : mapping of str to bool
        What each joint screener that was shown it says.
    places : mapping of str to int
        Its place among all features by the screeners that choose, race or cut, where those decided, or where
        its rank is not known; a place in a cut is a rank, or where that is not known one more than is known
        to stand before it.
    bar : int or None
        How many stay or are shown, where that was decided: what `places` is held against.
    missing_operators, missing_inputs, missing_constants : tuple
        What the space was grown without.
    layers : str
        The shortest layers that would reach it.
    part : str
        The part of it that is at fault.
    rows : int
        In how many rows that part is undefined.
    row : int or None
        One of these, counted from 1 in the source.
    arguments : mapping of str to float
        What goes into the part in that row.
    rule : str
        The rule that bars it, of the grammar or of units.
    unit : str
        What it is measured in, where that is not what was asked for.
    complexity, cap : int or None
        Its complexity, and the highest allowed.
    layer : int or None
        The layer after which it was cut.
    affine_copy : str
        A formula of the space that differs from it by a factor and an offset only.
    stand_in : str
        What the list shows in its place, where near-duplicates are left out.
    listed : int or None
        Its place in a list from which near-duplicates are left out.
    beyond : bool
        Whether such a list ends before it.
    q_value : float or None
        Of the feature, where a false discovery rate is asked for.
    unsafe_rows : int or None
        Of what is ranked: in how many rows rounding decides where the row stands, as of a ranking.
    unsafe_by : float or None
        How far the first screener's score may be from that of exact arithmetic; NaN where no bound is known.
    notices : tuple of str
        What `screen` would tell of the data.
    """

    answer: Answer
    text: str = ""
    formula: str
    found_as: str = ""
    match: Match | None = None
    rank: int | None = None
    ahead: int | None = None
    features: int | None = None
    stands_for: str = ""
    class_size: int | None = None
    direction: int = 0
    scores: Mapping[str, float] = field(default_factory=dict)
    selected: Mapping[str, bool] = field(default_factory=dict)
    places: Mapping[str, int] = field(default_factory=dict)
    bar: int | None = None
    missing_operators: tuple[str, ...] = ()
    missing_inputs: tuple[str, ...] = ()
    missing_constants: tuple[float, ...] = ()
    layers: str = ""
    part: str = ""
    rows: int = 0
    row: int | None = None
    arguments: Mapping[str, float] = field(default_factory=dict)
    rule: str = ""
    unit: str = ""
    complexity: int | None = None
    cap: int | None = None
    layer: int | None = None
    affine_copy: str = ""
    stand_in: str = ""
    listed: int | None = None
    beyond: bool = False
    q_value: float | None = None
    unsafe_rows: int | None = None
    unsafe_by: float | None = None
    notices: tuple[str, ...] = ()

    def __str__(self) -> str:
        return self.text
