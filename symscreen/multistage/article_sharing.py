"""Read or generate the CI&T DeskDrop article-sharing data, as chains of three stages: view → like → follow.

Each event reaches one stage. A bookmark or a comment counts as a view. There is one row for each user and
article with an event.

Some events skip a stage, such as a follow without a like. A chain cannot represent this
(Y_t = −1 ⇒ Y_{t+1} = −1). With ``skipped="reached"`` all stages before the last one count as reached. With
``skipped="cut"`` the chain ends before the first stage without an event. Any event implies a view.

`generate_article_sharing` generates files of the same format with planted chains. Users (agent, region,
country) and articles (author, language, topic) have non-negative factors, and stages have q. The meetings
with the largest (a ∘ b)ᵀ(1 − q_1) plus noise are liked. Among the liked ones, those with the largest
(a ∘ b)ᵀ(1 − q_1 − q_2) plus noise are followed. The numbers of events are those of the data.

At full size, 40,710 of 1,895 × 3,100 user-article pairs meet (0.69 %), as in the public data; the paper
states that under 0.2 % are observed. A smaller `share` scales users, articles and pairs alike, so the density
of the pairs grows as 1/`share`.
"""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from symscreen._parameters import POSITIVE, POSITIVE_INTEGER, check_parameters
from symscreen.errors import DataError
from symscreen.messages import escape_control_chars
from symscreen.multistage.chains import check_hashable, format_value

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    from symscreen._typing import Integers, Values


ARTICLES_FILE, INTERACTIONS_FILE = "shared_articles.csv", "users_interactions.csv"
STAGES = ("view", "like", "follow")
_EVENT_STAGES = {"VIEW": 0, "BOOKMARK": 0, "COMMENT CREATED": 0, "LIKE": 1, "FOLLOW": 2}
_USER_COLUMNS = {"userAgent": "agent", "userRegion": "region", "userCountry": "country"}
_ITEM_COLUMNS = {"authorPersonId": "author", "lang": "language"}
_ARTICLE_COLUMNS = ("timestamp", "eventType", "contentId", *_ITEM_COLUMNS, "text")
_INTERACTION_COLUMNS = ("eventType", "contentId", "personId", *_USER_COLUMNS)

EVENT_COUNTS = {"VIEW": 61086, "LIKE": 5745, "BOOKMARK": 2463, "COMMENT CREATED": 1611, "FOLLOW": 1407}
_N_PERSONS, _N_ARTICLES, _N_MEETINGS = 1895, 3100, 40710
_N_AUTHORS, _N_AGENTS, _N_REGIONS, _N_COUNTRIES = 250, 40, 25, 15
_LANGUAGES, _N_TOPICS, _VOCABULARY_SIZE, _TEXT_WORDS = ("en", "pt", "es", "la", "ja"), 10, 400, 40
_MIN_SHARE = 0.001  # smaller shares leave no meetings
_N_FACTORS, _START_TIME_S, _YEAR_S = 7, 1_457_000_000, 31_536_000  # Unix time and duration in seconds


@dataclass(frozen=True, eq=False)
class ArticleSharingData:
    """Chains of users and articles, with their features.

    Parameters
    ----------
    table : data frame
        Columns `user`, `item`, and 1 or 0 for each of `STAGES`: one row per user and article with an event.
    user_features : data frame
        Columns ``user``, ``agent``, ``region`` and ``country``: the most frequent value among the events of
        the user.
    item_features : data frame
        Columns `item`, `author`, `language`, and an embedding of the text, ``text0``, ``text1`` and so on.
    n_skipped : int
        Number of rows in which an event skipped a stage.
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
        Folder with both files.
    skipped, text_factors
        See `build_article_chains`.

    Returns
    -------
    ArticleSharingData
        See `build_article_chains`.

    Raises
    ------
    DataError
        If a file is missing or unreadable, lacks a column, or has an unknown event.
    """
    import pandas as pd

    frames = []
    for name, columns in ((ARTICLES_FILE, _ARTICLE_COLUMNS), (INTERACTIONS_FILE, _INTERACTION_COLUMNS)):
        path = Path(folder) / name
        try:
            header = pd.read_csv(path, nrows=0).columns
            _check_columns(header, columns, str(path))
            # IDs of users and articles are signed integers of 19 digits, read as text. "NA" is Namibia, so
            # only empty cells are missing.
            options: dict[str, Any] = {
                "usecols": list(columns),
                "dtype": str,
                "keep_default_na": False,
                "na_values": [""],
            }
            frames.append(pd.read_csv(path, **options))
        except FileNotFoundError:
            raise DataError(f"{path}: no such file; give the folder that contains it") from None
        except (OSError, UnicodeDecodeError, pd.errors.ParserError, pd.errors.EmptyDataError) as error:
            raise DataError(f"{path} cannot be read as CSV: {escape_control_chars(str(error))}") from None
    return build_article_chains(*frames, skipped=skipped, text_factors=text_factors)


def build_article_chains(
    articles: pd.DataFrame, interactions: pd.DataFrame, *, skipped: str = "reached", text_factors: int = 20
) -> ArticleSharingData:
    """Build chains from tables of events.

    Parameters
    ----------
    articles : data frame
        Columns timestamp, eventType, contentId, authorPersonId, lang and text: one row each time an article
        was shared or removed. The last sharing is used; ties in time are broken by author, language and text.
        An article that was never shared has no author, language or text.
    interactions : data frame
        Columns eventType, contentId, personId, userAgent, userRegion and userCountry.
    skipped : {"reached", "cut"}
        How to treat events that skip a stage; see the module.
    text_factors : int
        Dimension of the text embedding by latent semantic analysis (truncated SVD of TF-IDF weights). The
        paper uses Doc2Vec.

    Returns
    -------
    ArticleSharingData
        Rows sorted by user and article.

    Raises
    ------
    DataError
        If a column is missing or duplicated, an event is unknown, a user, article or time is empty, or a cell
        is not hashable. The message names the row, counted from 1.
    """
    import pandas as pd

    check_parameters(
        {"skipped": [StrOptions({"reached", "cut"})], "text_factors": [POSITIVE_INTEGER]},
        {"skipped": skipped, "text_factors": text_factors},
    )
    _check_table(articles, _ARTICLE_COLUMNS, "articles")
    _check_table(interactions, _INTERACTION_COLUMNS, "interactions")
    event_stages = interactions["eventType"].map(_EVENT_STAGES)
    if event_stages.isna().any():
        row = int(np.flatnonzero(event_stages.isna())[0])
        known = ", ".join(_EVENT_STAGES)
        raise DataError(
            f"row {row + 1} of the interactions: event {format_value(interactions['eventType'].iloc[row])} "
            f"is unknown; known: {known}"
        )
    for name in ("personId", "contentId"):
        _check_not_empty(interactions[name], "interactions")
    _check_not_empty(articles["contentId"], "articles")
    _check_times(articles["timestamp"])
    events = pd.DataFrame(
        {
            "user": interactions["personId"].astype(str),
            "item": interactions["contentId"].astype(str),
            **{name: (event_stages == t).to_numpy() for t, name in enumerate(STAGES)},
        }
    )
    table = events.groupby(["user", "item"], as_index=False, sort=True)[list(STAGES)].any()
    stages_reached = table[list(STAGES)].to_numpy(copy=True)
    stages_reached[:, 0] = True  # any event implies a view
    outcomes = _enforce_chains(stages_reached, skipped)
    table[list(STAGES)] = outcomes.astype(np.int64)
    users = _build_user_features(interactions)
    items = _build_item_features(articles, table["item"].unique(), text_factors)
    return ArticleSharingData(
        table, users, items, int((stages_reached != _enforce_chains(stages_reached, "cut")).any(axis=1).sum())
    )


def _check_table(table: Any, required: tuple[str, ...], table_name: str) -> None:
    """Raise DataError unless the data frame has each required column once, with hashable cells."""
    import pandas as pd

    if not isinstance(table, pd.DataFrame):
        raise DataError(f"the table of {table_name} is a {type(table).__name__}: give a data frame")
    _check_columns(table.columns, required, f"the table of {table_name}")
    for name in required:
        if (table.columns == name).sum() > 1:
            raise DataError(f"the table of {table_name} has the column {name!r} twice: keep one")
        check_hashable(table[name], name, f" of the {table_name}")


def _check_columns(columns: pd.Index, required: tuple[str, ...], source: str) -> None:
    """Raise DataError if a required column is missing."""
    missing = [name for name in required if name not in columns]
    if missing:
        raise DataError(f"{source} has no column {missing[0]!r}; it must have {', '.join(required)}")


def _check_not_empty(column: pd.Series, table_name: str) -> None:
    """Raise DataError if a cell is empty."""
    if column.isna().any():
        row = int(np.flatnonzero(column.isna())[0])
        raise DataError(
            f"row {row + 1} of the {table_name}: {column.name!r} is empty; fill it in or drop the row"
        )


def _check_times(column: pd.Series) -> None:
    """Raise DataError unless all cells are integers."""
    invalid = ~column.astype(str).str.fullmatch(r"-?\d{1,18}").to_numpy(dtype=np.bool_)
    if invalid.any():
        row = int(np.flatnonzero(invalid)[0])
        raise DataError(
            f"row {row + 1} of the articles: 'timestamp' is {escape_control_chars(str(column.iloc[row]))!r}; "
            "give an integer"
        )


def _enforce_chains(events: NDArray[np.bool_], skipped: str) -> NDArray[np.bool_]:
    """Make events (R, T + 1) a chain: fill skipped stages ("reached") or end it before them ("cut")."""
    if skipped == "cut":
        return np.logical_and.accumulate(events, axis=1)
    return np.logical_or.accumulate(events[:, ::-1], axis=1)[:, ::-1]


def _build_user_features(interactions: pd.DataFrame) -> pd.DataFrame:
    """Find the most frequent value of each feature per user; ties take the first by name."""
    import pandas as pd

    user = interactions["personId"].astype(str)
    features = pd.DataFrame(index=pd.Index(np.unique(user), name="user"))
    for column, name in _USER_COLUMNS.items():
        known = pd.DataFrame({"user": user, name: interactions[column].astype(object)}).dropna()
        counts = known.groupby(["user", name]).size().rename("times").reset_index()
        counts = counts.sort_values(["user", "times", name], ascending=[True, False, True])
        features[name] = counts.drop_duplicates("user").set_index("user")[name].astype(object)
    return features.reset_index()


def _build_item_features(
    articles: pd.DataFrame, article_names: NDArray[np.object_], n_factors: int
) -> pd.DataFrame:
    """Return the author, the language and the text embedding of each article, as last shared."""
    import pandas as pd

    shared = articles[articles["eventType"] == "CONTENT SHARED"].reset_index(drop=True)
    shared = shared.assign(item=shared["contentId"].astype(str), when=shared["timestamp"].astype(np.int64))
    # break ties in time by content, so that the order of the rows does not matter
    tie_breakers = {name: shared[name].fillna("").astype(str) for name in (*_ITEM_COLUMNS, "text")}
    order = shared.assign(**tie_breakers).sort_values(["when", *tie_breakers], kind="stable").index
    last = shared.loc[order].drop_duplicates("item", keep="last").set_index("item")
    last = last.reindex(pd.Index(np.sort(article_names.astype(str)), name="item"))
    features = last[list(_ITEM_COLUMNS)].rename(columns=_ITEM_COLUMNS).astype(object)
    embeddings = _embed_texts(last["text"].fillna("").astype(str).tolist(), n_factors)
    embedded = pd.DataFrame(
        embeddings, index=features.index, columns=[f"text{k}" for k in range(embeddings.shape[1])]
    )
    return pd.concat([features, embedded], axis=1).reset_index()


def _embed_texts(texts: list[str], n_factors: int) -> NDArray[np.float64]:
    """Embed n texts by latent semantic analysis, (n, at most n_factors). A text without words is 0."""
    from sklearn.decomposition import TruncatedSVD
    from sklearn.feature_extraction.text import TfidfVectorizer

    try:
        weights = TfidfVectorizer(max_features=5000, sublinear_tf=True).fit_transform(texts)
    except ValueError:  # scikit-learn raises it if no text has a word
        return np.zeros((len(texts), 0))
    n_factors = min(n_factors, min(weights.shape) - 1)
    if n_factors < 1:
        return np.zeros((len(texts), 0))
    embeddings = TruncatedSVD(n_factors, algorithm="arpack", random_state=0).fit_transform(weights)
    return np.asarray(embeddings, dtype=np.float64)


class GeneratedFiles(NamedTuple):
    """The two files as data frames, with the columns of the real files."""

    articles: pd.DataFrame
    interactions: pd.DataFrame


class _GeneratedEntities(NamedTuple):
    """n users or articles: names (n,), levels (n,) by feature, frequencies (n,) and factors (n, K)."""

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
        Size relative to the real data, in [0.001, 1]. The real data have 1,895 users, 3,100 articles and
        72,312 events on 40,710 pairs.
    noise : float
        Standard deviation of the noise relative to that of the score of a stage, > 0.
    skipping : float
        Fraction of follows without a like, in [0, 1).
    random_state : int, Generator or None
        Seed of all draws.

    Returns
    -------
    GeneratedFiles
        The files. The same seed gives the same files.

    Raises
    ------
    OptionError
        If an option is out of range.

    Examples
    --------
    >>> files = generate_article_sharing(share=0.02, random_state=0)
    >>> len(files.articles), files.interactions["eventType"].value_counts().to_dict()["LIKE"]
    (62, 115)
    """
    check_parameters(
        {
            "share": [Interval(Real, _MIN_SHARE, 1, closed="both")],
            "noise": [POSITIVE],
            "skipping": [Interval(Real, 0, 1, closed="left")],
        },
        {"share": share, "noise": noise, "skipping": skipping},
    )
    rng = np.random.default_rng(random_state)
    counts = {name: max(round(share * count), 1) for name, count in EVENT_COUNTS.items()}
    persons = _draw_entities(
        rng, round(share * _N_PERSONS), {"agent": _N_AGENTS, "region": _N_REGIONS, "country": _N_COUNTRIES}
    )
    level_counts = {
        "author": max(round(share * _N_AUTHORS), 5),
        "language": len(_LANGUAGES),
        "topic": _N_TOPICS,
    }
    articles = _draw_entities(rng, round(share * _N_ARTICLES), level_counts)
    person, article = _draw_meetings(persons, articles, round(share * _N_MEETINGS), rng)
    g = persons.factors[person] * articles.factors[article]
    q = rng.chisquare(1, size=(2, _N_FACTORS)) / 4.0
    n_unlogged = min(round(skipping * counts["FOLLOW"]), counts["FOLLOW"])
    like = _select_top_noisy(g @ (1.0 - q[0]), np.arange(len(g)), counts["LIKE"] + n_unlogged, noise, rng)
    follow = _select_top_noisy(g @ (1.0 - q[0] - q[1]), like, counts["FOLLOW"], noise, rng)
    liked = np.setdiff1d(like, rng.permutation(follow)[:n_unlogged])
    meetings = np.arange(len(g))
    repeated_views = rng.choice(meetings, size=max(counts["VIEW"] - len(g), 0))
    others = [rng.choice(meetings, size=counts[name]) for name in ("BOOKMARK", "COMMENT CREATED")]
    events = [np.concatenate([meetings, repeated_views])[: counts["VIEW"]], liked, *others, follow]
    event_types = np.repeat(list(EVENT_COUNTS), [len(event_rows) for event_rows in events])
    rows = np.concatenate(events)
    return GeneratedFiles(
        _build_article_frame(articles, rng),
        _build_event_frame(event_types, person[rows], article[rows], persons, articles, rng),
    )


def _draw_entities(rng: np.random.Generator, n: int, level_counts: dict[str, int]) -> _GeneratedEntities:
    """Draw at least 10 users or articles with the given numbers of levels per feature."""
    n = max(n, 10)
    names = rng.choice(2**53, size=n, replace=False) - 2**52
    levels = {
        name: rng.choice(count, size=n, p=_compute_rank_shares(count)) for name, count in level_counts.items()
    }
    factors = rng.chisquare(1, size=(n, _N_FACTORS))
    for name, count in level_counts.items():
        factors += rng.chisquare(1, size=(count, _N_FACTORS))[levels[name]]
    return _GeneratedEntities(names, levels, rng.permutation(_compute_rank_shares(n)), factors)


def _compute_rank_shares(size: int) -> Values:
    """Compute shares proportional to 1/√rank, (size,): a few are frequent, many are rare."""
    shares = 1.0 / np.sqrt(np.arange(1, size + 1))
    return np.asarray(shares / shares.sum())


def _draw_meetings(
    persons: _GeneratedEntities, articles: _GeneratedEntities, n_pairs: int, rng: np.random.Generator
) -> tuple[Integers, Integers]:
    """Draw distinct user-article pairs in proportion to both frequencies; return indices (n_pairs,)."""
    n_articles = len(articles.names)
    distinct_cells = np.empty(0, dtype=np.int64)
    n_pairs = min(n_pairs, len(persons.names) * n_articles // 2)
    while len(distinct_cells) < n_pairs:
        person = rng.choice(len(persons.names), size=n_pairs, p=persons.weights)
        article = rng.choice(n_articles, size=n_pairs, p=articles.weights)
        distinct_cells = np.unique(np.concatenate([distinct_cells, person * n_articles + article]))
    selected = np.sort(rng.choice(distinct_cells, size=n_pairs, replace=False))
    return selected // n_articles, selected % n_articles


def _select_top_noisy(
    score: Values, candidates: Integers, n_selected: int, noise: float, rng: np.random.Generator
) -> Integers:
    """Select the candidates with the largest noisy scores."""
    noisy_scores = score[candidates] + noise * score[candidates].std() * rng.normal(size=len(candidates))
    return np.sort(candidates[np.argsort(-noisy_scores, kind="stable")[:n_selected]])


def _build_article_frame(articles: _GeneratedEntities, rng: np.random.Generator) -> pd.DataFrame:
    """Build the file of articles; the topic of an article determines the words of its text."""
    import pandas as pd

    n = len(articles.names)
    words = np.array([f"word{i}" for i in range(_VOCABULARY_SIZE)])
    topic_words = rng.dirichlet(np.full(_VOCABULARY_SIZE, 0.05), size=_N_TOPICS)
    texts = [
        " ".join(rng.choice(words, size=_TEXT_WORDS, p=topic_words[topic]))
        for topic in articles.levels["topic"]
    ]
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
            "url": [f"https://example.org/{i}" for i in range(n)],
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
    """Build the file of interactions from the type, user and article of each event."""
    import pandas as pd

    user_columns = {
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
            **user_columns,
        }
    )
    is_unknown = rng.random(len(frame)) < 0.2  # as in a fifth of the real events
    frame.loc[is_unknown, list(user_columns)] = None
    return frame.sort_values("timestamp", kind="stable", ignore_index=True)
