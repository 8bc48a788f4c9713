"""Serve the page on the loopback address until the user stops it, and open it in a browser."""

from __future__ import annotations

import os
import socket
import sys
import threading
import webbrowser
from typing import TYPE_CHECKING

import uvicorn

from symscreen.errors import OptionError
from symscreen.explorer.application import build_application
from symscreen.explorer.security import LOOPBACK, LaunchCode, make_token
from symscreen.messages import name_option

if TYPE_CHECKING:
    from collections.abc import Callable

    from symscreen.explorer.exploration import Exploration


MAX_CONNECTIONS = 32
_STOP_WAIT_S = 1.0  # time for answers that are on their way when the server stops
_WAKE_S = 0.5  # time between two wake-ups; on Windows, Ctrl-C is seen only then


def open_listener(port: int) -> socket.socket:
    """Listen on the loopback address.

    Parameters
    ----------
    port : int
        The port; 0 for a free one.

    Returns
    -------
    socket.socket
        It accepts connections of this machine only, which wait until the server starts.

    Raises
    ------
    OptionError
        If the port is taken, or not allowed.
    """
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        if os.name == "posix":  # elsewhere this would let two servers share the port
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((LOOPBACK, port))
        listener.listen()
    except OSError as error:
        listener.close()
        raise OptionError(
            f"{name_option('port', port)} cannot be used ({error.strerror}); leave it out for a free one"
        ) from None
    return listener


def serve(
    exploration: Exploration, *, port: int, opens_browser: bool, announce: Callable[[str], None]
) -> None:
    """Serve the page until Ctrl-C.

    Parameters
    ----------
    exploration : Exploration
        The result that the page shows.
    port : int
        The port; 0 for a free one.
    opens_browser : bool
        Whether to open the page in the user's browser.
    announce : callable
        Receives the address of the page, once, before anything is served.

    Raises
    ------
    OptionError
        If the port is taken, or not allowed.
    """
    with open_listener(port) as listener:
        origin = f"http://{LOOPBACK}:{listener.getsockname()[1]}"
        token = make_token()
        launch_code = LaunchCode() if opens_browser else None
        server = uvicorn.Server(_configure(exploration, token, launch_code))
        finished = threading.Event()
        announce(f"{origin}/{token}/")
        threading.Thread(target=_run, args=(server, listener, finished), daemon=True).start()
        if launch_code is not None:
            address = f"{origin}/{launch_code.path}"
            threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()
        try:
            while not finished.wait(_WAKE_S):
                pass
        except KeyboardInterrupt:  # how a user ends it
            _stop(server, finished)


def _run(server: uvicorn.Server, listener: socket.socket, finished: threading.Event) -> None:
    """Run the server in a thread of its own, so that Ctrl-C is not for the server to handle."""
    try:
        server.run([listener])
    finally:
        finished.set()


def _stop(server: uvicorn.Server, finished: threading.Event) -> None:
    """Stop the server; end the process at once if an answer takes longer, since there is nothing to write."""
    server.should_exit = True
    if not finished.wait(_STOP_WAIT_S):
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(0)


def _configure(exploration: Exploration, token: str, launch_code: LaunchCode | None) -> uvicorn.Config:
    """Configure the server: no log of addresses, which hold the token, and no other protocol."""
    return uvicorn.Config(
        build_application(exploration, token, launch_code),
        access_log=False,
        http="h11",
        interface="asgi3",
        lifespan="off",
        limit_concurrency=MAX_CONNECTIONS,
        log_config=None,
        log_level="error",
        loop="asyncio",
        proxy_headers=False,
        server_header=False,
        ws="none",
    )
