"""`symscreen.screen`: dataset → grammar → feature space → screeners → result."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Unpack

from symscreen.config.fields import describe_options, list_options
from symscreen.config.screen_options import ScreenOptions, make_screen_options
from symscreen.screening.execution import run_screen
from symscreen.screening.preparation import prepare_screen

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from symscreen.config.keyword_types import ScreenKeywords
    from symscreen.results.screen_result import ScreenResult


@describe_options(list_options(ScreenOptions))
def screen(
    X: Any,  # noqa: N803  # scikit-learn's name
    y: ArrayLike | None = None,
    **options: Unpack[ScreenKeywords],
) -> ScreenResult:
    """Generate formulas from the columns of a table, score each against a target, and return the best.

    Parameters
    ----------
    X : path, pandas.DataFrame, dict of columns, or array of shape (n, d)
        The data. A file or a data frame may contain the target, too; the columns of an array are x1 … xd.
    y : array_like, shape (n,) or (n, k), optional
        The target, where `X` does not contain it. With k columns it is a ranking of k labels, or with
        ``target_type="several"`` k targets.
    **options
        The options of `symscreen.config.screen_options.ScreenOptions`: …

    Returns
    -------
    ScreenResult

    Raises
    ------
    InputError
        If the data, the grammar, a formula or an option cannot be used; see its subclasses.

    Examples
    --------
    >>> import symscreen
    >>> data = symscreen.datasets.load_strogatz("glider2")
    >>> result = symscreen.screen(data.frame, layers="ubb", unary=["cos"], binary=["sub", "div"], top=1)
    >>> result.table.expression[0], result.table.direction[0]
    ('x1 - cos(x2)/x1', '+')
    """
    return run_screen(prepare_screen(X, y, make_screen_options(options, verb="screen")))
