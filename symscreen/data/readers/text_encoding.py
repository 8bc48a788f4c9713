"""Decode text in UTF-8, in UTF-16 or UTF-32 with a byte order mark, or in Windows-1252 if it is plausible."""

from __future__ import annotations

import codecs
import re

from symscreen.errors import DataError
from symscreen.messages import escape_control_chars

_BYTE_ORDER_MARKS = (  # marks in the order of the check, because that of UTF-32 begins with that of UTF-16
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_FIRST_LATIN_1, _LAST_LATIN_1 = 0xA0, 0xFF
# letters and marks of the bytes 0x80 to 0x9F that texts of Western Europe have
_LIKELY_SPECIALS = frozenset("€‘’“”–—…•™ŒœŠšŽžŸ")
# In Western Europe no word has three special letters in a row, and no dash or mark starts a field.
_UNLIKELY_RUN = re.compile("[^\x00-\x7f]{3}|(?<![\\w\\s])[–—…•™]")
_MAX_SHOWN_LETTERS = 8


def has_byte_order_mark(data: bytes) -> bool:
    """Return whether data start with the byte order mark of an encoding."""
    return data.startswith(tuple(mark for mark, _ in _BYTE_ORDER_MARKS))


def decode_text(data: bytes, source: str) -> tuple[bytes, tuple[str, ...]]:
    """Convert text to UTF-8 without a byte order mark.

    Latin-1 is read as Windows-1252, which has its letters at the same places.

    Parameters
    ----------
    data : bytes
        The text.
    source : str
        The source, for messages.

    Returns
    -------
    text : bytes
        The text in UTF-8.
    notices : tuple of str
        One line if the encoding was guessed.

    Raises
    ------
    DataError
        If the text is in no encoding that can be recognized.

    Examples
    --------
    >>> decode_text("λ".encode("utf-16"), "t.csv") == ("λ".encode(), ())
    True
    >>> decode_text("µm".encode("cp1252"), "t.csv")[1]
    ("read as Windows-1252, because the text is not UTF-8; it has the letters 'µ'",)
    """
    mark, encoding = next((pair for pair in _BYTE_ORDER_MARKS if data.startswith(pair[0])), (b"", "utf-8"))
    try:
        if encoding != "utf-8":
            return data.decode(encoding).encode(), ()
        text = data.removeprefix(mark)
        if not text.isascii():
            text.decode()
    except UnicodeError as error:
        if encoding != "utf-8":
            raise DataError(f"{source} is damaged {encoding.upper()} text: save it as UTF-8") from None
        return _decode_windows_1252(text, source, getattr(error, "start", 0))
    return text, ()


def _decode_windows_1252(data: bytes, source: str, position: int) -> tuple[bytes, tuple[str, ...]]:
    """Decode a text that is not UTF-8 at a position; DataError if its other letters are unlikely."""
    try:
        text = data.decode("cp1252")
        letters = sorted({letter for letter in text if not letter.isascii()})
        is_plausible = _UNLIKELY_RUN.search(text) is None and all(
            _FIRST_LATIN_1 <= ord(letter) <= _LAST_LATIN_1 or letter in _LIKELY_SPECIALS for letter in letters
        )
    except UnicodeDecodeError:
        is_plausible = False
    if not is_plausible or b"\0" in data:
        line = data.count(b"\n", 0, position) + 1
        raise DataError(
            f"{source} is not UTF-8 text: line {line} has the byte 0x{data[position]:02x}; save it as UTF-8"
        )
    shown = escape_control_chars("".join(letters[:_MAX_SHOWN_LETTERS])) + (
        "…" if len(letters) > _MAX_SHOWN_LETTERS else ""
    )
    return text.encode(), (
        f"read as Windows-1252, because the text is not UTF-8; it has the letters '{shown}'",
    )
