"""Studies: a file says what to screen, fit and report of a table."""

from symscreen.studies.proposal import propose_study
from symscreen.studies.study import Study
from symscreen.studies.study_file import format_study, read_study
from symscreen.studies.study_run import StudyResult, run_study

__all__ = ["Study", "StudyResult", "format_study", "propose_study", "read_study", "run_study"]
