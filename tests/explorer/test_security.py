"""Who may ask: the token, the host, the origin, and the code that starts a browser."""

from __future__ import annotations

import pytest
from helpers.explorer_cases import TOKEN, open_client

from symscreen.explorer.security import HEADERS, LaunchCode, make_token

ADDRESSES = ("", "explore.js", "explore.css", "explore.svg", "formulas", "points?formula=0")


@pytest.fixture(scope="module")
def stranger(ranking):
    """A client that knows the host and the port, and no token."""
    return open_client(ranking, base="http://127.0.0.1:8000")


@pytest.mark.parametrize("address", ADDRESSES)
@pytest.mark.parametrize("first", ["", "wrong/", TOKEN[:-1] + "/", TOKEN + "x/", TOKEN.upper() + "/", "é/"])
def test_without_the_token_nothing_is_found(stranger, first, address):
    answer = stranger.get(f"/{first}{address}")
    assert answer.status_code == 404
    assert TOKEN not in answer.text


def test_the_token_is_compared_in_constant_time(stranger, monkeypatch):
    compared = []

    def compare(given, secret):
        compared.append((given, secret))
        return False

    monkeypatch.setattr("symscreen.explorer.security.secrets.compare_digest", compare)
    assert stranger.get(f"/{TOKEN}/formulas").status_code == 404
    assert compared == [(TOKEN.encode(), TOKEN.encode())]


@pytest.mark.parametrize("address", ADDRESSES)
def test_every_answer_has_the_headers(client, address):
    answer = client.get(address)
    assert answer.status_code == 200
    assert {name: answer.headers[name] for name in HEADERS} == HEADERS
    assert not any(name.startswith("access-control") for name in answer.headers)
    assert "set-cookie" not in answer.headers


def test_the_policy_allows_no_script_but_the_pages_own(client):
    policy = dict(part.strip().split(" ", 1) for part in HEADERS["Content-Security-Policy"].split(";"))
    assert policy["default-src"] == "'none'"
    assert policy["script-src"] == policy["style-src"] == policy["connect-src"] == "'self'"
    assert policy["frame-ancestors"] == policy["base-uri"] == policy["form-action"] == "'none'"
    page = client.get("").text
    assert page.count("<script") == 1
    assert '<script src="explore.js" defer></script>' in page
    assert "style=" not in page
    assert " on" not in page.replace(" one", "")  # no attribute with a script


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:8000", "127.0.0.1.evil.example", "10.0.0.1", ""]
)
def test_another_host_is_refused(client, host):
    assert client.get("formulas", headers={"Host": host}).status_code == 400


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.1:8000", "localhost:9000"])
def test_this_machine_is_no_other_host(client, host):
    assert client.get("formulas", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"Origin": "http://127.0.0.1:8000", "Sec-Fetch-Site": "same-origin"}, 200),
        ({"Origin": "http://127.0.0.1:9999"}, 403),
        ({"Origin": "https://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Sec-Fetch-Site": "same-site"}, 403),
    ],
)
def test_only_the_page_itself_may_send_a_formula(client, headers, status):
    assert client.post("why", content="x1", headers=headers).status_code == status


@pytest.mark.parametrize("address", ["", "formulas", "points?formula=0", "export?format=sql&formula=0"])
@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"])
def test_addresses_are_for_reading(client, address, method):
    assert client.request(method, address).status_code == 405


def test_a_typed_formula_is_only_posted(client):
    assert client.get("why").status_code == 405


@pytest.mark.parametrize(
    "address",
    ["../pyproject.toml", "..%2f..%2fetc/passwd", "/etc/passwd", "page/explore.js", "explore.html", "open/x"],
)
def test_no_other_file_is_found(stranger, address):
    assert stranger.get(f"/{TOKEN}/{address}").status_code == 404


def test_a_launch_code_works_once(ranking):
    code = LaunchCode()
    client = open_client(ranking, code, base="http://127.0.0.1:8000")
    assert TOKEN not in code.path
    assert client.get("/open/wrong").status_code == 404
    first = client.get(f"/{code.path}")
    assert (first.status_code, first.headers["location"]) == (303, f"/{TOKEN}/")
    assert client.get(f"/{code.path}").status_code == 404


def test_without_a_launch_code_none_is_taken(stranger):
    assert stranger.get("/open/None").status_code == 404


def test_tokens_differ_and_are_long():
    tokens = {make_token() for _ in range(100)}
    assert len(tokens) == 100
    assert all(len(token) >= 43 for token in tokens)


def test_a_fault_of_the_server_tells_no_secret():
    class Broken:
        def describe(self):
            raise RuntimeError("a fault")

    client = open_client(Broken(), raises=False)
    answer = client.get("formulas")
    assert answer.status_code == 500
    assert answer.text == "Internal Server Error"
