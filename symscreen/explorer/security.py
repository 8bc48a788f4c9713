"""Access to the page's server: a request must know its token and name this machine as the host.

The token is the first part of every address. So it needs no cookie, which other local servers would see. A
page of another site cannot ask in the user's name, because it does not know the address.
"""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse, RedirectResponse

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send


LOOPBACK = "127.0.0.1"
ALLOWED_HOSTS = (LOOPBACK, "localhost")  # hosts that the header Host may name, with any port
_TOKEN_BYTES = 32
_LAUNCH_PATH = "open"
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


def make_token() -> str:
    """Make a random token of 256 bits, as text for an address."""
    return secrets.token_urlsafe(_TOKEN_BYTES)


class LaunchCode:
    """An address that works once: the browser is started with it, and is sent on to the page.

    Other users of the machine can read the arguments of a program that is started. So the token is not among
    them, and the code is worth nothing once the browser has used it.
    """

    def __init__(self) -> None:
        self._code: str | None = make_token()
        self.path = f"{_LAUNCH_PATH}/{self._code}"

    def accept(self, code: str) -> bool:
        """Return whether this is the code, for the first time."""
        if self._code is None or not _are_equal(code, self._code):
            return False
        self._code = None
        return True


class TokenGuard:
    """Let requests with the token through, without it in the path, and add the headers of `HEADERS`.

    Parameters
    ----------
    app : ASGI application
        What answers.
    token : str
        The token.
    launch_code : LaunchCode, optional
        A code that is exchanged for the address of the page.
    """

    def __init__(self, app: ASGIApp, token: str, launch_code: LaunchCode | None = None) -> None:
        self._app = app
        self._token = token
        self._launch_code = launch_code

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(HEADERS)
            await send(message)

        await self._choose_answer(scope)(scope, receive, send_with_headers)

    def _choose_answer(self, scope: Scope) -> ASGIApp:
        """Return what answers a request; of one with the token, the path loses the token."""
        first, slash, rest = scope["path"].removeprefix("/").partition("/")
        if _are_equal(first, self._token) and slash:
            if not _is_same_origin(scope):
                return PlainTextResponse("other sites may not ask here", 403)
            scope["path"] = f"/{rest}"
            scope["raw_path"] = scope["path"].encode()
            return self._app
        if self._launch_code is not None and first == _LAUNCH_PATH and self._launch_code.accept(rest):
            return RedirectResponse(f"/{self._token}/", 303)
        return PlainTextResponse("this address has no token: open the one that was printed", 404)


def _are_equal(given: str, secret: str) -> bool:
    """Return whether two texts are equal, in a time that does not depend on how much was guessed."""
    return secrets.compare_digest(given.encode(errors="replace"), secret.encode())


def _is_same_origin(scope: Scope) -> bool:
    """Return whether a request comes from the page itself, or only reads."""
    if scope["method"] in {"GET", "HEAD"}:
        return True
    headers = Headers(scope=scope)
    origin, site = headers.get("origin"), headers.get("sec-fetch-site")
    return origin in {None, f"http://{headers.get('host')}"} and site in {None, "same-origin"}
