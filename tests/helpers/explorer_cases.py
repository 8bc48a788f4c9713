"""For tests of the local page: a ranking and a model in files, and a client that knows the token."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import httpx
import numpy as np
import pandas as pd

import symscreen

if TYPE_CHECKING:
    from pathlib import Path

TOKEN = "a-token-of-the-tests"  # noqa: S105  # no secret


@dataclass(frozen=True)
class StoredCases:
    """The files of a table, of a ranking and of a model, with the results that wrote them."""

    data: str
    ranking: str
    model: str
    result: symscreen.ScreenResult
    fitted: Any


def store_cases(folder: Path) -> StoredCases:
    """Write a table, a ranking of it and a model of it into a folder."""
    rng = np.random.default_rng(27)
    frame = pd.DataFrame({name: rng.uniform(0.5, 2.0, 80) for name in ("x1", "x2", "a b")})
    frame["y"] = frame.x1**2 - frame["a b"] + rng.normal(0, 0.05, 80)
    data, ranking, model = (str(folder / name) for name in ("d.csv", "r.json", "m.json"))
    frame.to_csv(data, index=False)
    result = symscreen.screen(data, layers="ub", unary="square,log", binary="mul,sub", top=12, jobs=1)
    result.save(ranking)
    fitted = symscreen.fit(data, layers="u", unary="id,square", max_terms=2, effort="quick", jobs=1)
    fitted.save(model)
    return StoredCases(data, ranking, model, result, fitted)


@dataclass(frozen=True)
class Client:
    """A browser without a page: it sends requests to an application, whose addresses begin with ``base``."""

    application: Any
    base: str = f"http://127.0.0.1:8000/{TOKEN}/"
    raises: bool = True

    def request(self, method: str, address: str, **details: Any) -> Any:
        """Return the answer to one request; redirections are not followed."""
        return asyncio.run(self._request(method, address, **details))

    async def _request(self, method: str, address: str, **details: Any) -> Any:
        transport = httpx.ASGITransport(self.application, raise_app_exceptions=self.raises)
        async with httpx.AsyncClient(transport=transport) as client:
            return await client.request(method, self.base + address, **details)

    def get(self, address: str, **details: Any) -> Any:
        return self.request("GET", address, **details)

    def post(self, address: str, **details: Any) -> Any:
        return self.request("POST", address, **details)


def open_client(exploration: Any, launch_code: Any = None, **details: Any) -> Client:
    """Return a client of an application for a result."""
    from symscreen.explorer.application import build_application

    return Client(build_application(exploration, TOKEN, launch_code), **details)
