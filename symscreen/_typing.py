"""Type aliases that many modules share: arrays named after what they hold, names and callbacks."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

Values = NDArray[np.float64]
Ranks = NDArray[np.float64]  # mid-ranks: halves where values are tied
Flags = NDArray[np.bool_]
Integers = NDArray[np.int64]
Numbers = NDArray[np.int64]  # numbers of candidates or features
Rows = NDArray[np.int32]  # row indices
Outcomes = NDArray[np.int8]  # 1, -1, and 0 where unobserved
Residues = NDArray[np.uint64]  # modulo 2**61 - 1
Names = str | Sequence[str]
ProgressCallback = Callable[[int, int], None]  # (done, total)
