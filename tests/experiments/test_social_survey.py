from __future__ import annotations

from itertools import permutations

import numpy as np
import pandas as pd
import pytest
from helpers.requirements import require

from symscreen.errors import DataError
from symscreen.experiments.base import ExperimentSettings
from symscreen.experiments.social_survey import EXPERIMENT, SURVEY_FILE
from symscreen.label_ranking import KemenyNeighbors, kendall_distance
from symscreen.label_ranking.generators import draw_mallows

DEGREES = ["Lt High School", "High School", "Junior College", "Bachelor", "Graduate"]


def respondents(rng, n=1500):
    """Rank by degree: respondents without a degree put income first, the others meaningful work."""
    degree = rng.integers(5, size=n)
    centers = np.where((degree == 0)[:, None], [1, 2, 4, 3, 5], [3, 4, 5, 2, 1])
    ranks = draw_mallows(centers, 1.0, n, rng).astype(int)
    year = rng.integers(1973, 2013, size=n)
    frame = pd.DataFrame(
        {
            "year": year,
            "age": rng.integers(18, 90, size=n).astype(float),
            "sex": rng.choice(["Male", "Female"], size=n),
            "race": rng.choice(["White", "Black", "Other"], size=n),
            "degree": np.array(DEGREES)[degree],
            "coninc": rng.lognormal(10, 1, size=n),
            "marital": rng.choice(["Married", "Divorced"], size=n),
            "childs": rng.integers(9, size=n).astype(float),
            "wrkstat": rng.choice(["Retired", "School", "Working Fulltime"], size=n),
        }
    )
    frame[["jobinc", "jobsec", "jobhour", "jobpromo", "jobmeans"]] = ranks
    frame.loc[::50, "coninc"] = np.nan
    return frame


@pytest.fixture
def folder(tmp_path, rng):
    respondents(rng).to_csv(tmp_path / SURVEY_FILE, index=False)
    return tmp_path


def test_trees_find_the_attribute_that_matters(folder):
    outcome = EXPERIMENT.run(ExperimentSettings(size="small", data=folder))
    risk = outcome.tables["risk"].set_index("quantity")
    assert risk["published"].dropna().to_dict() == {"crit": 2.763, "knn": 3.235}
    assert risk.loc["crit", "ours"] < risk.loc["knn", "ours"]
    assert risk.loc["crit", "ours"] < risk.loc["constant", "ours"]
    importance = outcome.tables["importance"]
    assert importance.loc[0, "attribute"] == "degree"
    assert importance["share"].sum() == pytest.approx(1.0)
    assert outcome.remarks[0].startswith("1470 complete rows")


def test_each_degree_has_its_own_consensus(folder):
    consensus = (
        EXPERIMENT.run(ExperimentSettings(size="small", data=folder)).tables["consensus"].set_index("group")
    )
    assert consensus.loc["Lt High School", "median"] == "jobinc>jobsec>jobpromo>jobhour>jobmeans"
    assert consensus.loc["Graduate", "median"] == "jobmeans>jobpromo>jobinc>jobsec>jobhour"
    assert consensus["certified"].all()
    assert consensus.loc[DEGREES, "rows"].sum() == consensus.loc["complete", "rows"] == 1470
    assert consensus.loc["all", "rows"] == 1500


def test_the_risks_are_those_of_three_neighbours_and_of_a_constant_on_the_test_rows(tmp_path, rng):
    respondents(rng).eval("childs = childs % 2").to_csv(tmp_path / SURVEY_FILE, index=False)
    outcome = EXPERIMENT.run(ExperimentSettings(size="small", data=tmp_path, seed=5))
    risk = outcome.tables["risk"].set_index("quantity")["ours"]
    frame = pd.read_csv(tmp_path / SURVEY_FILE).dropna()
    numeric = np.column_stack(
        [frame["year"] - frame["age"], frame["coninc"], frame["childs"], frame["degree"].map(DEGREES.index)]
    )
    dummies = pd.get_dummies(frame[["sex", "race", "marital", "wrkstat"]]).to_numpy(dtype=float)
    x = np.hstack([(numeric - numeric.mean(axis=0)) / numeric.std(axis=0), dummies])
    ranks = frame[["jobinc", "jobsec", "jobhour", "jobpromo", "jobmeans"]].to_numpy(dtype=float)
    order = np.random.default_rng([5, 0]).permutation(len(frame))
    train, test = order[: len(frame) * 7 // 10], order[len(frame) * 7 // 10 :]
    neighbors = KemenyNeighbors(n_neighbors=3).fit(x[train], ranks[train])
    assert risk["knn"] == kendall_distance(neighbors.predict(x[test]), ranks[test]).mean()
    losses = {
        order: kendall_distance(np.broadcast_to(order, ranks[train].shape), ranks[train]).sum()
        for order in permutations((1.0, 2.0, 3.0, 4.0, 5.0))
    }
    constant = np.broadcast_to(min(losses, key=losses.get), ranks[test].shape)
    assert risk["constant"] == pytest.approx(kendall_distance(constant, ranks[test]).mean())


def test_repeats_are_divisions_of_their_own(folder):
    outcome = EXPERIMENT.run(ExperimentSettings(size="small", repeats=3, data=folder))
    assert (outcome.tables["risk"]["se"] > 0).all()


def test_what_is_missing_is_told(tmp_path, folder, rng):
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match="no such file"):
        EXPERIMENT.run(ExperimentSettings(size="small", data=tmp_path / "empty"))
    frame = respondents(rng, 40)
    frame.drop(columns="race").to_csv(folder / SURVEY_FILE, index=False)
    with pytest.raises(DataError, match="no column 'race'"):
        EXPERIMENT.run(ExperimentSettings(size="small", data=folder))
    frame.assign(degree="Doctor").to_csv(folder / SURVEY_FILE, index=False)
    with pytest.raises(DataError, match="unknown degree"):
        EXPERIMENT.run(ExperimentSettings(size="small", data=folder))


def test_the_survey_has_the_known_constant_ranking():
    outcome = EXPERIMENT.run(ExperimentSettings(repeats=1, data=require("gss-jobs")))
    risk = outcome.tables["risk"].set_index("quantity")["ours"]
    assert risk["crit"] < risk["constant"] < risk["knn"]
    everyone = outcome.tables["consensus"].loc[0]
    assert everyone["median"] == "jobmeans>jobpromo>jobinc>jobsec>jobhour"
    assert (everyone["rows"], round(everyone["risk"], 3)) == (20_568, 2.936)
