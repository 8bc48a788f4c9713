"""A result as terminal table and as files."""

from symscreen.report.files import check_output, ranking_as_csv, write_ranking

__all__ = ["check_output", "ranking_as_csv", "write_ranking"]
