"""The public set of articles shared and read at CI&T (DeskDrop): two CSV files become chains of three stages.

Stages are view → like → follow. An event says that its stage was reached; a bookmark or a comment says that
the article was viewed. One row is made for each person and article that met.

Some events skip a stage: a follow without a like. A chain has no such thing (Y_t = −1 ⇒ Y_{t+1} = −1), so
with ``skipped="reached"`` the stages before the last one count as reached, and with ``skipped="cut"`` the
chain ends before the first stage without an event, a view being implied by any event.

Generated files in the shape of the article-sharing data, with planted chains.

Persons (agent, region, country) and articles (author, language, topic) have non-negative factors, and stages
have q: among the pairs that met, those with the largest (a ∘ b)ᵀ(1 − q_1) plus noise are liked, and of these
the ones with the largest (a ∘ b)ᵀ(1 − q_1 − q_2) plus noise are followed. Counts of events are exact.

Pairs that met are 0.69 % of persons × articles at the full size: 40,710 of 1,895 × 3,100, as the public
counts have it; the paper speaks of under 0.2 % observed. At a smaller `share`, persons, articles and pairs
shrink alike, and the share of pairs that met grows as 1/`share`.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from symscreen.errors import DataError, OptionError, escape_control_chars
from symscreen.multistage.chains import check_hashable, format_value
from symscreen.multistage.option_checks import check_choice, check_positive, check_positive_integer, is_real

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    from symscreen._typing import Integers, Values


__all__ = [
    "ARTICLES_FILE",
    "EVENT_COUNTS",
    "INTERACTIONS_FILE",
    "STAGES",
    "ArticleSharingData",
    "GeneratedFiles",
    "build_article_chains",
    "generate_article_sharing",
    "read_article_sharing",
]

ARTICLES_FILE, INTERACTIONS_FILE = "shared_articles.csv", "users_interactions.csv"
STAGES = ("view", "like", "follow")
_EVENT_STAGES = {"VIEW": 0, "BOOKMARK": 0, "COMMENT CREATED": 0, "LIKE": 1, "FOLLOW": 2}
_USER_COLUMNS = {"userAgent": "agent", "userRegion": "region", "userCountry": "country"}
_ITEM_COLUMNS = {"authorPersonId": "author", "lang": "language"}
_ARTICLE_COLUMNS = ("timestamp", "eventType", "contentId", *_ITEM_COLUMNS, "text")
_INTERACTION_COLUMNS = ("eventType", "contentId", "personId", *_USER_COLUMNS)


@dataclass(frozen=True, eq=False)
class ArticleSharingData:
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
    n_skipped: int


def read_article_sharing(
    folder: str | Path, *, skipped: str = "reached", text_factors: int = 20
) -> ArticleSharingData:
    """Read ``shared_articles.csv`` and ``users_interactions.csv``.

    Parameters
    ----------
    folder : path
        That holds both.
    skipped, text_factors
        As for `build_article_chains`.

    Returns
    -------
    ArticleSharing
        As `build_article_chains` makes it.

    Raises
    ------
    TableError
        If a file is missing or cannot be read, lacks a column, or names an unknown event.
    """
    import pandas as pd

    frames = []
    for name, columns in ((ARTICLES_FILE, _ARTICLE_COLUMNS), (INTERACTIONS_FILE, _INTERACTION_COLUMNS)):
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
            raise DataError(f"{path}: there is no such file; give the folder that holds it") from None
        except (OSError, UnicodeDecodeError, pd.errors.ParserError, pd.errors.EmptyDataError) as error:
            raise DataError(f"{path} cannot be read as CSV: {escape_control_chars(str(error))}") from None
    return build_article_chains(*frames, skipped=skipped, text_factors=text_factors)


def build_article_chains(
    articles: pd.DataFrame, interactions: pd.DataFrame, *, skipped: str = "reached", text_factors: int = 20
) -> ArticleSharingData:
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

    check_choice("skipped", skipped, ("reached", "cut"))
    _check_table(articles, _ARTICLE_COLUMNS, "articles")
    _check_table(interactions, _INTERACTION_COLUMNS, "interactions")
    reached = interactions["eventType"].map(_EVENT_STAGES)
    if reached.isna().any():
        row = int(np.flatnonzero(reached.isna())[0])
        known = ", ".join(_EVENT_STAGES)
        raise DataError(
            f"row {row + 1} of the interactions: event {format_value(interactions['eventType'].iloc[row])} "
            f"is unknown; known: {known}"
        )
    for name in ("personId", "contentId"):
        _check_not_empty(interactions[name], "interactions")
    _check_not_empty(articles["contentId"], "articles")
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
    outcomes = _enforce_chains(events, skipped)
    table[list(STAGES)] = outcomes.astype(np.int64)
    users = _build_user_features(interactions)
    items = _build_item_features(
        articles, table["item"].unique(), check_positive_integer("text_factors", text_factors)
    )
    return ArticleSharingData(
        table, users, items, int((events != _enforce_chains(events, "cut")).any(axis=1).sum())
    )


def _check_table(table: Any, required: tuple[str, ...], table_name: str) -> None:
    import pandas as pd

    if not isinstance(table, pd.DataFrame):
        raise DataError(f"the table of {table_name} is a {type(table).__name__}: a data frame is needed")
    _check_columns(table.columns, required, f"the table of {table_name}")
    for name in required:
        if (table.columns == name).sum() > 1:
            raise DataError(f"the table of {table_name} has the column {name!r} twice: keep one")
        check_hashable(table[name], name, f" of the {table_name}")


def _check_columns(columns: pd.Index, required: tuple[str, ...], source: str) -> None:
    missing = [name for name in required if name not in columns]
    if missing:
        raise DataError(f"{source} has no column {missing[0]!r}; it must hold {', '.join(required)}")


def _check_not_empty(column: pd.Series, table_name: str) -> None:
    if column.isna().any():
        row = int(np.flatnonzero(column.isna())[0])
        raise DataError(
            f"row {row + 1} of the {table_name}: {column.name!r} is empty; give it or drop the row"
        )


def _check_times(column: pd.Series) -> None:
    wrong = ~column.astype(str).str.fullmatch(r"-?\d{1,18}").to_numpy(dtype=np.bool_)
    if wrong.any():
        row = int(np.flatnonzero(wrong)[0])
        raise DataError(
            f"row {row + 1} of the articles: 'timestamp' is {escape_control_chars(str(column.iloc[row]))!r}; "
            "give a whole number"
        )


def _enforce_chains(events: NDArray[np.bool_], skipped: str) -> NDArray[np.bool_]:
    if skipped == "cut":
        return np.logical_and.accumulate(events, axis=1)
    return np.logical_or.accumulate(events[:, ::-1], axis=1)[:, ::-1]


def _build_user_features(interactions: pd.DataFrame) -> pd.DataFrame:
    """Of each person the commonest value, the first by name of equals; missing where none is told."""
    import pandas as pd

    user = interactions["personId"].astype(str)
    found = pd.DataFrame(index=pd.Index(np.unique(user), name="user"))
    for column, name in _USER_COLUMNS.items():
        told = pd.DataFrame({"user": user, name: interactions[column].astype(object)}).dropna()
        counts = told.groupby(["user", name]).size().rename("times").reset_index()
        counts = counts.sort_values(["user", "times", name], ascending=[True, False, True])
        found[name] = counts.drop_duplicates("user").set_index("user")[name].astype(object)
    return found.reset_index()


def _build_item_features(
    articles: pd.DataFrame, article_names: NDArray[np.object_], n_factors: int
) -> pd.DataFrame:
    """Of each article the author, the language and numbers for its text, as it was shared last."""
    import pandas as pd

    shared = articles[articles["eventType"] == "CONTENT SHARED"].reset_index(drop=True)
    shared = shared.assign(
        item=lambda one: one["contentId"].astype(str), when=lambda one: one["timestamp"].astype(np.int64)
    )
    told = {
        name: shared[name].fillna("").astype(str) for name in (*_ITEM_COLUMNS, "text")
    }  # the order of rows is none
    order = shared.assign(**told).sort_values(["when", *told], kind="stable").index
    last = shared.loc[order].drop_duplicates("item", keep="last").set_index("item")
    last = last.reindex(pd.Index(np.sort(article_names.astype(str)), name="item"))
    found = last[list(_ITEM_COLUMNS)].rename(columns=_ITEM_COLUMNS).astype(object)
    numbers = _embed_texts(last["text"].fillna("").astype(str).tolist(), n_factors)
    embedded = pd.DataFrame(numbers, index=found.index, columns=[f"text{k}" for k in range(numbers.shape[1])])
    return pd.concat([found, embedded], axis=1).reset_index()


def _embed_texts(texts: list[str], n_factors: int) -> NDArray[np.float64]:
    """Embed texts by latent semantic analysis; a text without words is 0."""
    from sklearn.decomposition import TruncatedSVD
    from sklearn.feature_extraction.text import TfidfVectorizer

    try:
        weights = TfidfVectorizer(max_features=5000, sublinear_tf=True).fit_transform(texts)
    except ValueError:  # scikit-learn's word for no word in any text
        return np.zeros((len(texts), 0))
    n_factors = min(n_factors, min(weights.shape) - 1)
    if n_factors < 1:
        return np.zeros((len(texts), 0))
    found = TruncatedSVD(n_factors, algorithm="arpack", random_state=0).fit_transform(weights)
    return np.asarray(found, dtype=np.float64)


EVENT_COUNTS = {"VIEW": 61086, "LIKE": 5745, "BOOKMARK": 2463, "COMMENT CREATED": 1611, "FOLLOW": 1407}
_N_PERSONS, _N_ARTICLES, _N_MEETINGS = 1895, 3100, 40710
_N_AUTHORS, _N_AGENTS, _N_REGIONS, _N_COUNTRIES = 250, 40, 25, 15
_LANGUAGES, _N_TOPICS, _VOCABULARY_SIZE, _TEXT_WORDS = ("en", "pt", "es", "la", "ja"), 10, 400, 40
_MIN_SHARE = 0.001  # of a smaller share nobody would meet anything
_N_FACTORS, _START_TIME_S, _YEAR_S = 7, 1_457_000_000, 31_536_000  # seconds


class GeneratedFiles(NamedTuple):
    """The two files as data frames, with the columns of the real ones."""

    articles: pd.DataFrame
    interactions: pd.DataFrame


class _GeneratedEntities(NamedTuple):
    """Names, levels of features, how often each is met, and factors."""

    names: Integers
    levels: dict[str, Integers]
    weights: Values
    factors: Values


def generate_article_sharing(
    *, share: float = 1.0, noise: float = 0.5, skipping: float = 0.1, random_state: Any = None
) -> GeneratedFiles:
    """Generate both files.

    Parameters
    ----------
    share : float
        Of the persons, articles and events of the real set, in [0.001, 1]: 1,895 persons, 3,100 articles,
        72,312 events on 40,710 pairs.
    noise : float
        Its standard deviation over that of a stage's score; > 0.
    skipping : float
        The share of follows without a like, in [0, 1).
    random_state : int, Generator or None
        Of all draws.

    Returns
    -------
    GeneratedFiles
        The same for the same seed.

    Raises
    ------
    OptionError
        If an option has no meaning.

    Examples
    --------
    >>> made = generate_article_sharing(share=0.02, random_state=0)
    >>> len(made.articles), made.interactions["eventType"].value_counts().to_dict()["LIKE"]
    (62, 115)
    """
    if not _MIN_SHARE <= check_positive("share", share) <= 1:
        raise OptionError(f"share is {share!r}: give a number from {_MIN_SHARE} to 1")
    if not is_real(skipping) or not 0 <= skipping < 1:
        raise OptionError(f"skipping is {skipping!r}: give a number from 0 to below 1")
    rng, spread = np.random.default_rng(random_state), check_positive("noise", noise)
    counts = {name: max(round(share * count), 1) for name, count in EVENT_COUNTS.items()}
    persons = _draw_entities(
        rng, round(share * _N_PERSONS), {"agent": _N_AGENTS, "region": _N_REGIONS, "country": _N_COUNTRIES}
    )
    kinds = {"author": max(round(share * _N_AUTHORS), 5), "language": len(_LANGUAGES), "topic": _N_TOPICS}
    articles = _draw_entities(rng, round(share * _N_ARTICLES), kinds)
    person, article = _draw_meetings(persons, articles, round(share * _N_MEETINGS), rng)
    g = persons.factors[person] * articles.factors[article]
    q = rng.chisquare(1, size=(2, _N_FACTORS)) / 4.0
    unlogged = min(round(skipping * counts["FOLLOW"]), counts["FOLLOW"])
    like = _select_top_noisy(g @ (1.0 - q[0]), np.arange(len(g)), counts["LIKE"] + unlogged, spread, rng)
    follow = _select_top_noisy(g @ (1.0 - q[0] - q[1]), like, counts["FOLLOW"], spread, rng)
    liked = np.setdiff1d(like, rng.permutation(follow)[:unlogged])
    meetings = np.arange(len(g))
    again = rng.choice(meetings, size=max(counts["VIEW"] - len(g), 0))
    others = [rng.choice(meetings, size=counts[name]) for name in ("BOOKMARK", "COMMENT CREATED")]
    events = [np.concatenate([meetings, again])[: counts["VIEW"]], liked, *others, follow]
    kind = np.repeat(list(EVENT_COUNTS), [len(one) for one in events])
    met = np.concatenate(events)
    return GeneratedFiles(
        _build_article_frame(articles, rng),
        _build_event_frame(kind, person[met], article[met], persons, articles, rng),
    )


def _draw_entities(rng: np.random.Generator, size: int, level_counts: dict[str, int]) -> _GeneratedEntities:
    size = max(size, 10)
    names = rng.choice(2**53, size=size, replace=False) - 2**52
    levels = {
        name: rng.choice(count, size=size, p=_compute_rank_shares(count))
        for name, count in level_counts.items()
    }
    factors = rng.chisquare(1, size=(size, _N_FACTORS))
    for name, count in level_counts.items():
        factors += rng.chisquare(1, size=(count, _N_FACTORS))[levels[name]]
    return _GeneratedEntities(names, levels, rng.permutation(_compute_rank_shares(size)), factors)


def _compute_rank_shares(size: int) -> Values:
    """Shares in proportion to 1/√rank: a few are common, many rare."""
    shares = 1.0 / np.sqrt(np.arange(1, size + 1))
    return np.asarray(shares / shares.sum())


def _draw_meetings(
    persons: _GeneratedEntities, articles: _GeneratedEntities, n_pairs: int, rng: np.random.Generator
) -> tuple[Integers, Integers]:
    """Draw pairs without repeats, the more of those who are active and what is popular."""
    m = len(articles.names)
    found = np.empty(0, dtype=np.int64)
    n_pairs = min(n_pairs, len(persons.names) * m // 2)
    while len(found) < n_pairs:
        person = rng.choice(len(persons.names), size=n_pairs, p=persons.weights)
        article = rng.choice(m, size=n_pairs, p=articles.weights)
        found = np.unique(np.concatenate([found, person * m + article]))
    cells = np.sort(rng.choice(found, size=n_pairs, replace=False))
    return cells // m, cells % m


def _select_top_noisy(
    score: Values, candidates: Integers, n_selected: int, noise: float, rng: np.random.Generator
) -> Integers:
    """Take those with the largest noisy scores."""
    seen = score[candidates] + noise * score[candidates].std() * rng.normal(size=len(candidates))
    return np.sort(candidates[np.argsort(-seen, kind="stable")[:n_selected]])


def _build_article_frame(articles: _GeneratedEntities, rng: np.random.Generator) -> pd.DataFrame:
    import pandas as pd

    n = len(articles.names)
    words = np.array([f"word{k}" for k in range(_VOCABULARY_SIZE)])
    spread = rng.dirichlet(np.full(_VOCABULARY_SIZE, 0.05), size=_N_TOPICS)
    texts = [" ".join(rng.choice(words, size=_TEXT_WORDS, p=spread[t])) for t in articles.levels["topic"]]
    author = articles.levels["author"]
    return pd.DataFrame(
        {
            "timestamp": np.sort(_START_TIME_S + rng.integers(_YEAR_S, size=n)),
            "eventType": "CONTENT SHARED",
            "contentId": articles.names,
            "authorPersonId": 10_000 + author,
            "authorSessionId": rng.integers(2**53, size=n),
            "authorUserAgent": None,
            "authorRegion": None,
            "authorCountry": None,
            "contentType": "HTML",
            "url": [f"https://example.org/{k}" for k in range(n)],
            "title": [text.split(" ", 1)[0] for text in texts],
            "text": texts,
            "lang": np.array(_LANGUAGES)[articles.levels["language"]],
        }
    )


def _build_event_frame(
    event_type: NDArray[np.str_],
    person: Integers,
    article: Integers,
    persons: _GeneratedEntities,
    articles: _GeneratedEntities,
    rng: np.random.Generator,
) -> pd.DataFrame:
    import pandas as pd

    told = {
        column: np.array([f"{name} {k}" for k in persons.levels[name]], dtype=object)[person]
        for column, name in (("userAgent", "agent"), ("userRegion", "region"), ("userCountry", "country"))
    }
    frame = pd.DataFrame(
        {
            "timestamp": _START_TIME_S + rng.integers(_YEAR_S, size=len(event_type)),
            "eventType": event_type,
            "contentId": articles.names[article],
            "personId": persons.names[person],
            "sessionId": rng.integers(2**53, size=len(event_type)),
            **told,
        }
    )
    silent = rng.random(len(frame)) < 0.2  # a fifth of the real events do not tell where they come from
    frame.loc[silent, list(told)] = None
    return frame.sort_values("timestamp", kind="stable", ignore_index=True)
