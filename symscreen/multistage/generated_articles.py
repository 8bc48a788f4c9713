"""Generated files in the shape of the article-sharing data, with planted chains.

Persons (agent, region, country) and articles (author, language, topic) have non-negative factors, and stages
have q: among the pairs that met, those with the largest (a ∘ b)ᵀ(1 − q_1) plus noise are liked, and of these
the ones with the largest (a ∘ b)ᵀ(1 − q_1 − q_2) plus noise are followed. Counts of events are exact.

Pairs that met are 0.69 % of persons × articles at the full size: 40,710 of 1,895 × 3,100, as the public
counts have it; the paper speaks of under 0.2 % observed. At a smaller `share`, persons, articles and pairs
shrink alike, and the share of pairs that met grows as 1/`share`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from symscreen.errors import OptionError
from symscreen.multistage.options import is_real, positive

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    Values = NDArray[np.float64]
    Whole = NDArray[np.int64]

__all__ = ["EVENTS", "GeneratedFiles", "generate_article_sharing"]

EVENTS = {"VIEW": 61086, "LIKE": 5745, "BOOKMARK": 2463, "COMMENT CREATED": 1611, "FOLLOW": 1407}
_PERSONS, _ARTICLES, _MEETINGS = 1895, 3100, 40710
_AUTHORS, _AGENTS, _REGIONS, _COUNTRIES = 250, 40, 25, 15
_LANGUAGES, _TOPICS, _VOCABULARY, _LENGTH = ("en", "pt", "es", "la", "ja"), 10, 400, 40
_LEAST = 0.001  # of a smaller share nobody would meet anything
_FACTORS, _START, _YEAR = 7, 1_457_000_000, 31_536_000  # seconds


class GeneratedFiles(NamedTuple):
    """The two files as data frames, with the columns of the real ones."""

    articles: pd.DataFrame
    interactions: pd.DataFrame


class _Side(NamedTuple):
    """Names, levels of features, how often each is met, and factors."""

    names: Whole
    levels: dict[str, Whole]
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
    if not _LEAST <= positive("share", share) <= 1:
        raise OptionError(f"share is {share!r}: give a number from {_LEAST} to 1")
    if not is_real(skipping) or not 0 <= skipping < 1:
        raise OptionError(f"skipping is {skipping!r}: give a number from 0 to below 1")
    rng, spread = np.random.default_rng(random_state), positive("noise", noise)
    counts = {name: max(round(share * count), 1) for name, count in EVENTS.items()}
    persons = _side(
        rng, round(share * _PERSONS), {"agent": _AGENTS, "region": _REGIONS, "country": _COUNTRIES}
    )
    kinds = {"author": max(round(share * _AUTHORS), 5), "language": len(_LANGUAGES), "topic": _TOPICS}
    articles = _side(rng, round(share * _ARTICLES), kinds)
    person, article = _meetings(persons, articles, round(share * _MEETINGS), rng)
    g = persons.factors[person] * articles.factors[article]
    q = rng.chisquare(1, size=(2, _FACTORS)) / 4.0
    unlogged = min(round(skipping * counts["FOLLOW"]), counts["FOLLOW"])
    like = _best(g @ (1.0 - q[0]), np.arange(len(g)), counts["LIKE"] + unlogged, spread, rng)
    follow = _best(g @ (1.0 - q[0] - q[1]), like, counts["FOLLOW"], spread, rng)
    liked = np.setdiff1d(like, rng.permutation(follow)[:unlogged])
    meetings = np.arange(len(g))
    again = rng.choice(meetings, size=max(counts["VIEW"] - len(g), 0))
    others = [rng.choice(meetings, size=counts[name]) for name in ("BOOKMARK", "COMMENT CREATED")]
    events = [np.concatenate([meetings, again])[: counts["VIEW"]], liked, *others, follow]
    kind = np.repeat(list(EVENTS), [len(one) for one in events])
    met = np.concatenate(events)
    return GeneratedFiles(
        _article_frame(articles, rng), _event_frame(kind, person[met], article[met], persons, articles, rng)
    )


def _side(rng: np.random.Generator, size: int, kinds: dict[str, int]) -> _Side:
    size = max(size, 10)
    names = rng.choice(2**53, size=size, replace=False) - 2**52
    levels = {name: rng.choice(count, size=size, p=_falling(count)) for name, count in kinds.items()}
    factors = rng.chisquare(1, size=(size, _FACTORS))
    for name, count in kinds.items():
        factors += rng.chisquare(1, size=(count, _FACTORS))[levels[name]]
    return _Side(names, levels, rng.permutation(_falling(size)), factors)


def _falling(size: int) -> Values:
    """Shares in proportion to 1/√rank: a few are common, many rare."""
    shares = 1.0 / np.sqrt(np.arange(1, size + 1))
    return np.asarray(shares / shares.sum())


def _meetings(persons: _Side, articles: _Side, asked: int, rng: np.random.Generator) -> tuple[Whole, Whole]:
    """Draw pairs without repeats, the more of those who are active and what is popular."""
    m = len(articles.names)
    found = np.empty(0, dtype=np.int64)
    asked = min(asked, len(persons.names) * m // 2)
    while len(found) < asked:
        person = rng.choice(len(persons.names), size=asked, p=persons.weights)
        article = rng.choice(m, size=asked, p=articles.weights)
        found = np.unique(np.concatenate([found, person * m + article]))
    cells = np.sort(rng.choice(found, size=asked, replace=False))
    return cells // m, cells % m


def _best(score: Values, among: Whole, count: int, noise: float, rng: np.random.Generator) -> Whole:
    """Take those with the largest noisy scores."""
    seen = score[among] + noise * score[among].std() * rng.normal(size=len(among))
    return np.sort(among[np.argsort(-seen, kind="stable")[:count]])


def _article_frame(articles: _Side, rng: np.random.Generator) -> pd.DataFrame:
    import pandas as pd

    n = len(articles.names)
    words = np.array([f"word{k}" for k in range(_VOCABULARY)])
    spread = rng.dirichlet(np.full(_VOCABULARY, 0.05), size=_TOPICS)
    texts = [" ".join(rng.choice(words, size=_LENGTH, p=spread[t])) for t in articles.levels["topic"]]
    author = articles.levels["author"]
    return pd.DataFrame(
        {
            "timestamp": np.sort(_START + rng.integers(_YEAR, size=n)),
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


def _event_frame(
    kind: NDArray[np.str_],
    person: Whole,
    article: Whole,
    persons: _Side,
    articles: _Side,
    rng: np.random.Generator,
) -> pd.DataFrame:
    import pandas as pd

    told = {
        column: np.array([f"{name} {k}" for k in persons.levels[name]], dtype=object)[person]
        for column, name in (("userAgent", "agent"), ("userRegion", "region"), ("userCountry", "country"))
    }
    frame = pd.DataFrame(
        {
            "timestamp": _START + rng.integers(_YEAR, size=len(kind)),
            "eventType": kind,
            "contentId": articles.names[article],
            "personId": persons.names[person],
            "sessionId": rng.integers(2**53, size=len(kind)),
            **told,
        }
    )
    silent = rng.random(len(frame)) < 0.2  # a fifth of the real events do not tell where they come from
    frame.loc[silent, list(told)] = None
    return frame.sort_values("timestamp", kind="stable", ignore_index=True)
