"""What a ranking is: the one representation, how it is read, and the order of its pairs.

A response of n rows that each rank k labels is an (n, k) float64 array of ranks: 1 is the most preferred, NaN
a label that is missing (its position is unknown), equal values are ties. Inside symscreen the ranks of a row
are always mid-ranks among the m labels the row shows: they sum to m(m + 1)/2.
"""

from symscreen.label_ranking.notation import quote_label, text_of
from symscreen.label_ranking.pairs import pair_places, pair_signs, pairs_shown
from symscreen.label_ranking.ranks import as_rankings, numbers_of, orders_of
from symscreen.label_ranking.reading import (
    Rankings,
    rankings_of_columns,
    rankings_of_orders,
    read_rankings,
)

__all__ = [
    "Rankings",
    "as_rankings",
    "numbers_of",
    "orders_of",
    "pair_places",
    "pair_signs",
    "pairs_shown",
    "quote_label",
    "rankings_of_columns",
    "rankings_of_orders",
    "read_rankings",
    "text_of",
]
