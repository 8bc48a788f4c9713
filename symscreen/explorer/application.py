"""The server of the page as an application: its addresses, its answers, and how much it reads.

All addresses are relative to the token, which `symscreen.explorer.security.TokenGuard` removes:

- the page itself, ``explore.css``, ``explore.js`` and ``explore.svg``;
- ``formulas``: the list as JSON;
- ``points?formula=K``: the rows of a formula as JSON;
- ``why``, with a typed formula as the body: where it stands, as JSON;
- ``export?format=NAME&formula=K``: a text.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from symscreen.errors import InputError, OptionError
from symscreen.explorer.security import ALLOWED_HOSTS, LaunchCode, TokenGuard
from symscreen.messages import COMMAND_LINE, escape_control_chars

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from starlette.requests import Request

    from symscreen.explorer.exploration import Exploration


PAGE_FOLDER = Path(__file__).parent / "page"
MAX_TYPED_BYTES = 4000  # largest number of bytes of a typed formula
_MAX_NUMBER_CHARS = 9
_FILES = {
    "/": ("explore.html", "text/html"),
    "/explore.css": ("explore.css", "text/css"),
    "/explore.js": ("explore.js", "text/javascript"),
    "/explore.svg": ("explore.svg", "image/svg+xml"),
}


def build_application(
    exploration: Exploration, token: str, launch_code: LaunchCode | None = None
) -> Starlette:
    """Build the application.

    Parameters
    ----------
    exploration : Exploration
        The result that the page shows.
    token : str
        The first part of every address.
    launch_code : LaunchCode, optional
        A code that is exchanged for the address of the page.

    Returns
    -------
    starlette.applications.Starlette
        It refuses other hosts (400), addresses without the token (404), other methods (405), other origins
        (403), typed formulas that are too long (413) and what a result cannot answer (422).
    """
    endpoints = _Endpoints(exploration)
    return Starlette(
        routes=[
            *(Route(path, _serve_file(*file), methods=["GET"]) for path, file in _FILES.items()),
            Route("/formulas", endpoints.list_formulas, methods=["GET"]),
            Route("/points", endpoints.trace, methods=["GET"]),
            Route("/why", endpoints.explain, methods=["POST"]),
            Route("/export", endpoints.export, methods=["GET"]),
        ],
        middleware=[
            Middleware(TrustedHostMiddleware, allowed_hosts=[*ALLOWED_HOSTS], www_redirect=False),
            Middleware(TokenGuard, token=token, launch_code=launch_code),
        ],
        exception_handlers={InputError: _refuse},
    )


def _serve_file(name: str, media_type: str) -> Callable[[Request], Awaitable[Response]]:
    """Return an endpoint that sends one file of the package; no part of its name comes from a request."""
    content = (PAGE_FOLDER / name).read_bytes()

    async def send(request: Request) -> Response:
        del request
        return Response(content, media_type=media_type)

    return send


def _refuse(request: Request, error: Exception) -> Response:
    """Answer that a result cannot do what was asked, in the words of the command line."""
    del request
    assert isinstance(error, InputError)  # noqa: S101  # it is registered for no other
    return JSONResponse({"error": escape_control_chars(error.render(COMMAND_LINE))}, 422)


class _Endpoints:
    """What each address answers. Work is done in threads, so that the page stays alive meanwhile."""

    def __init__(self, exploration: Exploration) -> None:
        self._exploration = exploration

    async def list_formulas(self, request: Request) -> Response:
        """Return the list of formulas."""
        del request
        return JSONResponse(await run_in_threadpool(self._exploration.describe))

    async def trace(self, request: Request) -> Response:
        """Return the points of a formula, or null."""
        number = _read_number(request, "formula")
        return JSONResponse(await run_in_threadpool(self._exploration.trace, number))

    async def explain(self, request: Request) -> Response:
        """Return where a typed formula stands."""
        text = await _read_text(request)
        return JSONResponse(await run_in_threadpool(self._exploration.explain, text))

    async def export(self, request: Request) -> Response:
        """Return a formula, or the list, in a format, as a file to be saved."""
        name, number = request.query_params.get("format", ""), _read_number(request, "formula")
        exported = await run_in_threadpool(self._exploration.export, name, number)
        headers = {"Content-Disposition": f'attachment; filename="{exported.file_name}"'}
        return PlainTextResponse(exported.text, headers=headers)


def _read_number(request: Request, name: str) -> int:
    """Read an integer of at least 0 from the address; raises OptionError for anything else."""
    text = request.query_params.get(name, "")
    if not (text.isascii() and text.isdigit() and len(text) <= _MAX_NUMBER_CHARS):
        raise OptionError(f"{name} must be an integer of at least 0 in this address")
    return int(text)


async def _read_text(request: Request) -> str:
    """Read the body as text, and stop at `MAX_TYPED_BYTES`."""
    body = bytearray()
    async for part in request.stream():
        body += part
        if len(body) > MAX_TYPED_BYTES:
            raise HTTPException(413, f"a typed formula has at most {MAX_TYPED_BYTES} bytes")
    try:
        return body.decode("utf-8")
    except UnicodeDecodeError:
        raise OptionError("the typed formula is not text in UTF-8") from None
