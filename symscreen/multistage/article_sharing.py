"""The public set of articles shared and read at CI&T (DeskDrop): two CSV files become chains of three stages.

Stages are view → like → follow. An event says that its stage was reached; a bookmark or a comment says that
the article was viewed. One row is made for each person and article that met.

Some events skip a stage: a follow without a like. A chain has no such thing (Y_t = −1 ⇒ Y_{t+1} = −1), so
with ``skipped="reached"`` the stages before the last one count as reached, and with ``skipped="cut"`` the
chain ends before the first stage without an event, a view being implied by any event.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from symscreen.errors import TableError, printable
from symscreen.multistage.chains import refuse_unhashable, shown
from symscreen.multistage.options import chosen, whole

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

__all__ = ["ARTICLES", "INTERACTIONS", "STAGES", "ArticleSharing", "article_chains", "read_article_sharing"]

ARTICLES, INTERACTIONS = "shared_articles.csv", "users_interactions.csv"
STAGES = ("view", "like", "follow")
_REACHES = {"VIEW": 0, "BOOKMARK": 0, "COMMENT CREATED": 0, "LIKE": 1, "FOLLOW": 2}
_USER = {"userAgent": "agent", "userRegion": "region", "userCountry": "country"}
_ITEM = {"authorPersonId": "author", "lang": "language"}
_OF_ARTICLES = ("timestamp", "eventType", "contentId", *_ITEM, "text")
_OF_INTERACTIONS = ("eventType", "contentId", "personId", *_USER)


@dataclass(frozen=True, eq=False)
class ArticleSharing:
    """Chains of persons and articles, with their features.

    Parameters
    ----------
    table : data frame
        Columns `user`, `item`, and 1 or 0 for each of `STAGES`: one row for each person and article that met.
    user_features : data frame
        `user`, `agent`, `region` and `country`: of each the commonest among a person's events.
    item_features : data frame
        `item`, `author`, `language`, and numbers ``text0``, ``text1`` and so on that embed the text.
    skipped : int
        Rows in which an event skipped a stage.
    """

    table: pd.DataFrame
    user_features: pd.DataFrame
    item_features: pd.DataFrame
    skipped: int


def read_article_sharing(
    folder: str | Path, *, skipped: str = "reached", text_factors: int = 20
) -> ArticleSharing:
    """Read ``shared_articles.csv`` and ``users_interactions.csv``.

    Parameters
    ----------
    folder : path
        That holds both.
    skipped, text_factors
        As for `article_chains`.

    Returns
    -------
    ArticleSharing
        As `article_chains` makes it.

    Raises
    ------
    TableError
        If a file is missing or cannot be read, lacks a column, or names an unknown event.
    """
    import pandas as pd

    frames = []
    for name, columns in ((ARTICLES, _OF_ARTICLES), (INTERACTIONS, _OF_INTERACTIONS)):
        path = Path(folder) / name
        try:
            header = pd.read_csv(path, nrows=0).columns
            _check_columns(header, columns, str(path))
            # numbers of persons and articles have 19 digits and a sign: they are names, read as text;
            # "NA" is Namibia: only what is empty is missing
            read: dict[str, Any] = {
                "usecols": list(columns),
                "dtype": str,
                "keep_default_na": False,
                "na_values": [""],
            }
            frames.append(pd.read_csv(path, **read))
        except FileNotFoundError:
            raise TableError(f"{path}: there is no such file; give the folder that holds it") from None
        except (OSError, UnicodeDecodeError, pd.errors.ParserError, pd.errors.EmptyDataError) as error:
            raise TableError(f"{path} cannot be read as CSV: {printable(str(error))}") from None
    return article_chains(*frames, skipped=skipped, text_factors=text_factors)


def article_chains(
    articles: pd.DataFrame, interactions: pd.DataFrame, *, skipped: str = "reached", text_factors: int = 20
) -> ArticleSharing:
    """Make chains of events.

    Parameters
    ----------
    articles : data frame
        Columns timestamp, eventType, contentId, authorPersonId, lang, text: one row each time an article was
        shared or removed; the last sharing counts, of those at the same time the last one by author, language
        and text. An article that was never shared has no author, language or text.
    interactions : data frame
        Columns eventType, contentId, personId, userAgent, userRegion, userCountry.
    skipped : {"reached", "cut"}
        What becomes of events that skip a stage: see the module.
    text_factors : int
        Numbers that embed a text: latent semantic analysis, a truncated SVD of TF-IDF weights. (The paper has
        Doc2Vec.)

    Returns
    -------
    ArticleSharing
        Rows sorted by person and article.

    Raises
    ------
    TableError
        If a column is missing or there twice, an event is unknown, a person, article or time is empty, or a
        cell holds a list and the like; names the row, counted from 1.
    """
    import pandas as pd

    chosen("skipped", skipped, ("reached", "cut"))
    _check_table(articles, _OF_ARTICLES, "articles")
    _check_table(interactions, _OF_INTERACTIONS, "interactions")
    reached = interactions["eventType"].map(_REACHES)
    if reached.isna().any():
        row = int(np.flatnonzero(reached.isna())[0])
        known = ", ".join(_REACHES)
        raise TableError(
            f"row {row + 1} of the interactions: event {shown(interactions['eventType'].iloc[row])} "
            f"is unknown; known: {known}"
        )
    for name in ("personId", "contentId"):
        _refuse_empty(interactions[name], "interactions")
    _refuse_empty(articles["contentId"], "articles")
    _check_times(articles["timestamp"])
    met = pd.DataFrame(
        {
            "user": interactions["personId"].astype(str),
            "item": interactions["contentId"].astype(str),
            **{name: (reached == t).to_numpy() for t, name in enumerate(STAGES)},
        }
    )
    table = met.groupby(["user", "item"], as_index=False, sort=True)[list(STAGES)].any()
    events = table[list(STAGES)].to_numpy(copy=True)
    events[:, 0] = True  # whoever did anything with an article has it before him
    outcomes = _chained(events, skipped)
    table[list(STAGES)] = outcomes.astype(np.int64)
    users = _of_persons(interactions)
    items = _of_articles(articles, table["item"].unique(), whole("text_factors", text_factors))
    return ArticleSharing(table, users, items, int((events != _chained(events, "cut")).any(axis=1).sum()))


def _check_table(table: Any, asked: tuple[str, ...], what: str) -> None:
    import pandas as pd

    if not isinstance(table, pd.DataFrame):
        raise TableError(f"the table of {what} is a {type(table).__name__}: a data frame is needed")
    _check_columns(table.columns, asked, f"the table of {what}")
    for name in asked:
        if (table.columns == name).sum() > 1:
            raise TableError(f"the table of {what} has the column {name!r} twice: keep one")
        refuse_unhashable(table[name], name, f" of the {what}")


def _check_columns(found: pd.Index, asked: tuple[str, ...], where: str) -> None:
    missing = [name for name in asked if name not in found]
    if missing:
        raise TableError(f"{where} has no column {missing[0]!r}; it must hold {', '.join(asked)}")


def _refuse_empty(column: pd.Series, where: str) -> None:
    if column.isna().any():
        row = int(np.flatnonzero(column.isna())[0])
        raise TableError(f"row {row + 1} of the {where}: {column.name!r} is empty; give it or drop the row")


def _check_times(column: pd.Series) -> None:
    wrong = ~column.astype(str).str.fullmatch(r"-?\d{1,18}").to_numpy(dtype=np.bool_)
    if wrong.any():
        row = int(np.flatnonzero(wrong)[0])
        raise TableError(
            f"row {row + 1} of the articles: 'timestamp' is {printable(str(column.iloc[row]))!r}; "
            "give a whole number"
        )


def _chained(events: NDArray[np.bool_], skipped: str) -> NDArray[np.bool_]:
    if skipped == "cut":
        return np.logical_and.accumulate(events, axis=1)
    return np.logical_or.accumulate(events[:, ::-1], axis=1)[:, ::-1]


def _of_persons(interactions: pd.DataFrame) -> pd.DataFrame:
    """Of each person the commonest value, the first by name of equals; missing where none is told."""
    import pandas as pd

    user = interactions["personId"].astype(str)
    found = pd.DataFrame(index=pd.Index(np.unique(user), name="user"))
    for column, name in _USER.items():
        told = pd.DataFrame({"user": user, name: interactions[column].astype(object)}).dropna()
        counts = told.groupby(["user", name]).size().rename("times").reset_index()
        counts = counts.sort_values(["user", "times", name], ascending=[True, False, True])
        found[name] = counts.drop_duplicates("user").set_index("user")[name].astype(object)
    return found.reset_index()


def _of_articles(articles: pd.DataFrame, names: NDArray[np.object_], factors: int) -> pd.DataFrame:
    """Of each article the author, the language and numbers for its text, as it was shared last."""
    import pandas as pd

    shared = articles[articles["eventType"] == "CONTENT SHARED"].reset_index(drop=True)
    shared = shared.assign(
        item=lambda one: one["contentId"].astype(str), when=lambda one: one["timestamp"].astype(np.int64)
    )
    told = {
        name: shared[name].fillna("").astype(str) for name in (*_ITEM, "text")
    }  # the order of rows is none
    order = shared.assign(**told).sort_values(["when", *told], kind="stable").index
    last = shared.loc[order].drop_duplicates("item", keep="last").set_index("item")
    last = last.reindex(pd.Index(np.sort(names.astype(str)), name="item"))
    found = last[list(_ITEM)].rename(columns=_ITEM).astype(object)
    numbers = _embedded(last["text"].fillna("").astype(str).tolist(), factors)
    embedded = pd.DataFrame(numbers, index=found.index, columns=[f"text{k}" for k in range(numbers.shape[1])])
    return pd.concat([found, embedded], axis=1).reset_index()


def _embedded(texts: list[str], factors: int) -> NDArray[np.float64]:
    """Embed texts by latent semantic analysis; a text without words is 0."""
    from sklearn.decomposition import TruncatedSVD
    from sklearn.feature_extraction.text import TfidfVectorizer

    try:
        weights = TfidfVectorizer(max_features=5000, sublinear_tf=True).fit_transform(texts)
    except ValueError:  # scikit-learn's word for no word in any text
        return np.zeros((len(texts), 0))
    factors = min(factors, min(weights.shape) - 1)
    if factors < 1:
        return np.zeros((len(texts), 0))
    found = TruncatedSVD(factors, algorithm="arpack", random_state=0).fit_transform(weights)
    return np.asarray(found, dtype=np.float64)
