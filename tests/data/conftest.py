from pathlib import Path

import pytest

from symscreen.data import read_dataset
from symscreen.errors import InputError


@pytest.fixture
def refused():
    """Read a table that must be refused, and hand back the message without its folder."""

    def message(source, folder=None, **options):
        with pytest.raises(InputError) as caught:
            read_dataset(source, **options)
        text = str(caught.value)
        assert len(text.splitlines()) == 1
        return text.replace(f"{folder}/", "") if folder else text

    return message


@pytest.fixture
def refused_file(tmp_path, refused):
    """The same for a file of the given name and content."""

    def message(name, content, **options):
        path = Path(tmp_path, name)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return refused(path, folder=tmp_path, **options)

    return message
