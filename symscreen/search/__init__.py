"""Search: which features of a space are worth scoring over all rows."""

from symscreen.search.forecast import seconds_of_looks
from symscreen.search.modes import EXACT, Mode, Search, Searched, audited, searched
from symscreen.search.sieve import Wanted

__all__ = ["EXACT", "Mode", "Search", "Searched", "Wanted", "audited", "searched", "seconds_of_looks"]
