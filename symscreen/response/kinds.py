"""A response of any kind, and what to do where only numbers will do."""

from __future__ import annotations

from symscreen.errors import OptionError, printable
from symscreen.response import KINDS, Response
from symscreen.response.classes import ClassesResponse
from symscreen.response.rankings import RankingResponse
from symscreen.response.several import SeveralResponse
from symscreen.response.stages import StagesResponse
from symscreen.response.survival import SurvivalResponse
from symscreen.response.weighted import WeightedResponse

__all__ = ["AnyResponse", "NumericResponse", "PairsResponse", "labels_of", "numbers", "numeric"]

PairsResponse = RankingResponse | StagesResponse | ClassesResponse  # what comes to binary responses
NumericResponse = Response | SeveralResponse  # `values` of shape (n,) or (K, n), by row
AnyResponse = NumericResponse | PairsResponse | SurvivalResponse | WeightedResponse


def labels_of(response: AnyResponse) -> int:
    """Count what each row of a response orders: the labels of a ranking, else the two sides of a number."""
    return len(response.labels) if isinstance(response, RankingResponse) else 2


def numeric(response: AnyResponse, who: str) -> Response:
    """Return a response that must be numeric.

    Parameters
    ----------
    response : AnyResponse
        The response.
    who : str
        What needs numbers, for the message.

    Returns
    -------
    Response

    Raises
    ------
    OptionError
        If it is of another kind.
    """
    if isinstance(response, Response):
        return response
    raise _refused(response, who)


def numbers(response: AnyResponse, who: str) -> NumericResponse:
    """Return a response that must be numbers, one or several for each row; errors are those of `numeric`."""
    if isinstance(response, Response | SeveralResponse):
        return response
    raise _refused(response, who)


def _refused(response: AnyResponse, who: str) -> OptionError:
    return OptionError(
        f"{who} needs a numeric response, and {printable(repr(response.name))} is {KINDS[response.kind]}: "
        "give a column of numbers as the target"
    )
