from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from symscreen.errors import DataError, OptionError
from symscreen.multistage import read_stage_columns
from symscreen.multistage.article_sharing import (
    ARTICLES_FILE,
    EVENT_COUNTS,
    INTERACTIONS_FILE,
    STAGES,
    build_article_chains,
    generate_article_sharing,
    read_article_sharing,
)

# of the public files
ARTICLE_COLUMNS = [
    "timestamp", "eventType", "contentId", "authorPersonId", "authorSessionId", "authorUserAgent",
    "authorRegion", "authorCountry", "contentType", "url", "title", "text", "lang",
]  # fmt: skip
EVENT_COLUMNS = [
    "timestamp", "eventType", "contentId", "personId", "sessionId", "userAgent", "userRegion", "userCountry",
]  # fmt: skip


@pytest.fixture(scope="module")
def made():
    return generate_article_sharing(share=0.03, random_state=0)


@pytest.fixture
def folder(made, tmp_path):
    made.articles.to_csv(tmp_path / ARTICLES_FILE, index=False)
    made.interactions.to_csv(tmp_path / INTERACTIONS_FILE, index=False)
    return tmp_path


def events(*rows):
    return pd.DataFrame(
        [(kind, item, user, agent, None, "BR") for user, item, kind, agent in rows],
        columns=["eventType", "contentId", "personId", "userAgent", "userRegion", "userCountry"],
    )


def articles(*rows):
    columns = ["timestamp", "eventType", "contentId", "authorPersonId", "lang", "text"]
    return pd.DataFrame(rows, columns=columns)


SHARED = articles(
    (1, "CONTENT SHARED", 7, 100, "en", "old words"),
    (2, "CONTENT SHARED", 7, 101, "pt", "new words of trees"),
    (3, "CONTENT REMOVED", 7, 102, "es", ""),
    (1, "CONTENT SHARED", 8, 103, "en", "words of rivers"),
)


def test_events_become_stages_and_skipped_ones_are_filled_or_cut():
    happened = events(
        ("ann", 7, "VIEW", "x"),
        ("ann", 7, "LIKE", "x"),
        ("ann", 8, "FOLLOW", "y"),
        ("bob", 7, "BOOKMARK", None),
        ("bob", 8, "COMMENT CREATED", None),
        ("bob", 8, "LIKE", None),
    )
    filled = build_article_chains(SHARED, happened)
    assert filled.table.to_numpy().tolist() == [
        ["ann", "7", 1, 1, 0],
        ["ann", "8", 1, 1, 1],
        ["bob", "7", 1, 0, 0],
        ["bob", "8", 1, 1, 0],
    ]
    cut = build_article_chains(SHARED, happened, skipped="cut")
    assert cut.table["follow"].tolist() == [0, 0, 0, 0]
    assert cut.table["like"].tolist() == [1, 0, 0, 1]
    assert filled.n_skipped == cut.n_skipped == 1
    assert filled.user_features.loc[0, "agent"] == "x"
    assert filled.user_features.loc[1, "agent"] is None or pd.isna(filled.user_features.loc[1, "agent"])
    assert filled.item_features[["author", "language"]].to_numpy().tolist() == [[101, "pt"], [103, "en"]]


def test_an_article_that_was_never_shared_has_no_features():
    found = build_article_chains(SHARED, events(("ann", 7, "VIEW", "x"), ("ann", 9, "VIEW", "x")))
    row = found.item_features.set_index("item").loc["9"]
    assert row[["author", "language"]].isna().all()
    assert (row.filter(like="text") == 0).all()


def test_generated_files_have_the_columns_and_counts_of_the_real_ones(made):
    assert made.articles.columns.tolist() == ARTICLE_COLUMNS
    assert made.interactions.columns.tolist() == EVENT_COLUMNS
    counts = made.interactions["eventType"].value_counts().to_dict()
    assert counts == {name: round(0.03 * count) for name, count in EVENT_COUNTS.items()}
    assert EVENT_COUNTS == {
        "VIEW": 61086,
        "LIKE": 5745,
        "BOOKMARK": 2463,
        "COMMENT CREATED": 1611,
        "FOLLOW": 1407,
    }
    again = generate_article_sharing(share=0.03, random_state=0)
    assert again.interactions.equals(made.interactions)
    assert not generate_article_sharing(share=0.03, random_state=1).articles.equals(made.articles)


def test_files_are_read_as_they_were_written(made, folder):
    read, direct = read_article_sharing(folder), build_article_chains(*made)
    assert read.table.equals(direct.table)
    assert read.n_skipped == direct.n_skipped > 0
    numbers = read.item_features.filter(like="text")
    assert numbers.shape[1] == 20
    assert np.array_equal(numbers, direct.item_features.filter(like="text"))
    read_stage_columns(read.table[list(STAGES)])  # raises if a chain is invalid
    assert read.table["view"].all()
    assert 0.1 < read.table["like"].mean() < 0.2
    assert len(read.table) < 0.25 * len(read.user_features) * len(read.item_features)


def test_signs_and_digits_of_numbers_of_people_are_kept(folder):
    path = folder / INTERACTIONS_FILE
    table = pd.read_csv(path, dtype=str)
    table.loc[0, "personId"] = "-8845298781299428018"
    table.to_csv(path, index=False)
    assert "-8845298781299428018" in set(read_article_sharing(folder).user_features["user"])


def test_what_cannot_be_read_is_told(folder, made):
    with pytest.raises(DataError, match="no such file"):
        read_article_sharing(folder / "elsewhere")
    made.articles.drop(columns="lang").to_csv(folder / ARTICLES_FILE, index=False)
    with pytest.raises(DataError, match="has no column 'lang'"):
        read_article_sharing(folder)
    (folder / ARTICLES_FILE).write_text("")
    with pytest.raises(DataError, match="cannot be read as CSV"):
        read_article_sharing(folder)
    with pytest.raises(DataError, match=r"row 2 of the interactions: event 'WINK' is unknown"):
        build_article_chains(SHARED, events(("ann", 7, "VIEW", "x"), ("ann", 7, "WINK", "x")))
    with pytest.raises(OptionError, match="skipped is 'drop'"):
        build_article_chains(SHARED, events(("ann", 7, "VIEW", "x")), skipped="drop")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"share": 2.0}, r"share is 2\.0: give a number ≥ 0\.001 and up to 1"),
        ({"share": 1e-5}, "share is 1e-05: give"),
        ({"share": 0.01, "skipping": "a"}, "skipping is 'a': give"),
        ({"share": 0.01, "skipping": 1.0}, r"skipping is 1\.0: give"),
    ],
)
def test_shares_without_meaning_are_refused(options, words):
    with pytest.raises(OptionError, match=words):
        generate_article_sharing(**options)


def test_the_smallest_share_is_generated():
    made = generate_article_sharing(share=0.001, random_state=0)
    assert set(made.interactions["eventType"]) == set(EVENT_COUNTS)
    assert build_article_chains(*made).table["view"].all()


def test_namibia_is_a_country(folder):
    happened = pd.read_csv(folder / INTERACTIONS_FILE, dtype=str)
    happened["userCountry"] = "NA"
    happened.loc[happened["personId"] == happened.loc[0, "personId"], "userCountry"] = None
    happened.to_csv(folder / INTERACTIONS_FILE, index=False)
    found = read_article_sharing(folder).user_features.set_index("user")["country"]
    assert pd.isna(found[happened.loc[0, "personId"]])
    assert set(found.dropna()) == {"NA"}
    assert found.isna().sum() == 1


def test_the_order_of_rows_changes_nothing_where_times_are_equal():
    shared = SHARED.assign(timestamp=5)
    happened = events(("ann", 7, "VIEW", "x"), ("ann", 8, "VIEW", "y"))
    found = [build_article_chains(one, happened).item_features for one in (shared, shared.iloc[::-1])]
    assert found[0].equals(found[1])
    assert found[0]["author"].tolist() == [101, 103]


def test_what_is_no_table_of_events_is_refused():
    one = events(("ann", 7, "VIEW", "x"))
    with pytest.raises(DataError, match="the table of interactions is a list: give a data frame"):
        build_article_chains(SHARED, [1])
    with pytest.raises(DataError, match="the table of articles has the column 'text' twice"):
        build_article_chains(pd.concat([SHARED, SHARED[["text"]]], axis=1), one)
    with pytest.raises(DataError, match="row 1 of the interactions: 'eventType' is \\['VIEW'\\]"):
        build_article_chains(SHARED, one.assign(eventType=[["VIEW"]]))


def test_what_names_nobody_is_refused_with_its_row(folder):
    happened = pd.read_csv(folder / INTERACTIONS_FILE, dtype=str)
    happened.loc[4, "personId"] = None
    happened.to_csv(folder / INTERACTIONS_FILE, index=False)
    with pytest.raises(DataError, match="row 5 of the interactions: 'personId' is empty") as caught:
        read_article_sharing(folder)
    assert "\n" not in str(caught.value)
    one = events(("ann", 7, "VIEW", "x"))
    with pytest.raises(DataError, match="row 2 of the articles: 'contentId' is empty"):
        build_article_chains(SHARED.assign(contentId=["7", None, "7", "8"]), one)
    with pytest.raises(DataError, match="row 1 of the articles: 'timestamp' is 'soon'"):
        build_article_chains(SHARED.assign(timestamp=["soon", 1, 2, 3]), one)
