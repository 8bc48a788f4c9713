"""Read a table or a view of a DuckDB database, read-only and without access to anything else."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from symscreen.data.decompressed_size import get_max_table_bytes
from symscreen.data.readers.optional_packages import import_package
from symscreen.data.readers.raw_table import RawTable
from symscreen.errors import DataError
from symscreen.messages import escape_control_chars, format_names, quote, suggest

if TYPE_CHECKING:
    import pyarrow as pa


DUCKDB_PREFIX = "duckdb:"
_BATCH_ROWS = 100_000
_MAX_REASON_CHARS = 150
_NO_OUTSIDE_ACCESS = {
    "enable_external_access": "false",
    "autoload_known_extensions": "false",
    "autoinstall_known_extensions": "false",
    "allow_community_extensions": "false",
    "lock_configuration": "true",
    "temp_directory": "",
}


def read_duckdb_table(address: str) -> RawTable:
    """Read a table or a view.

    Parameters
    ----------
    address : str
        ``duckdb:FILE#TABLE``: the file of a database and the name of a table or a view, with its schema,
        ``SCHEMA.TABLE``, if several schemas have one of that name. The name is never run as SQL.

    Returns
    -------
    RawTable

    Raises
    ------
    DataError
        If there is no such file or table, or it is too large.
    """
    file, separator, name = address.removeprefix(DUCKDB_PREFIX).partition("#")
    source = escape_control_chars(address)
    if not separator or not file or not name:
        raise DataError(f"{source} names no table: write duckdb:FILE#TABLE")
    if not Path(file).is_file():
        raise DataError(f"{source}: the file {quote(file)} does not exist; check its name and its folder")
    duckdb = import_package("duckdb", "a DuckDB database")
    import_package("pyarrow", "a table of DuckDB")  # DuckDB passes batches of rows to it
    memory = f"{max(get_max_table_bytes() // 1_000_000, 1)}MB"
    try:
        connection = duckdb.connect(
            file, read_only=True, config=_NO_OUTSIDE_ACCESS | {"memory_limit": memory}
        )
        with connection:
            return RawTable.from_arrow(
                _fetch(connection, _find_table(connection, name, source), source), source
            )
    except duckdb.Error as error:
        reason = escape_control_chars(str(error))[:_MAX_REASON_CHARS]
        raise DataError(
            f"{source} cannot be read by DuckDB ({reason}): check the database and the name"
        ) from error


def _find_table(connection: Any, name: str, source: str) -> tuple[str, str]:
    """Return schema and name of a table or a view."""
    tables = connection.execute(
        "SELECT schema_name, table_name FROM duckdb_tables() WHERE NOT internal AND database_name = "
        "current_database() UNION ALL SELECT schema_name, view_name FROM duckdb_views() WHERE NOT internal "
        "AND database_name = current_database() ORDER BY 1, 2"
    ).fetchall()
    found = [pair for pair in tables if name in {pair[1], f"{pair[0]}.{pair[1]}"}]
    exact = [pair for pair in found if name == f"{pair[0]}.{pair[1]}"] or found
    if not exact:
        raise DataError(
            f"{source}: there is no table or view {quote(name)}{suggest(name, [t for _, t in tables])}"
        )
    if len(exact) > 1:
        known = [f"{schema}.{table}" for schema, table in exact]
        raise DataError(f"{source}: several schemas have {quote(name)}: name one of {format_names(known)}")
    schema, table = exact[0]
    return schema, table


def _fetch(connection: Any, table: tuple[str, str], source: str) -> pa.Table:
    """Fetch a table batch by batch, until it is too large."""
    import pyarrow as pa

    quoted = ".".join('"' + part.replace('"', '""') + '"' for part in table)
    relation = connection.sql(f"SELECT * FROM {quoted}")  # noqa: S608  # a quoted name that the database has
    read = getattr(relation, "to_arrow_reader", None) or relation.fetch_record_batch  # before version 2
    reader = read(_BATCH_ROWS)
    batches, size = [], 0
    for batch in reader:
        size += batch.nbytes
        if size > get_max_table_bytes():
            raise DataError(
                f"{source} is larger than {get_max_table_bytes() / 1e9:.1f} GB, a quarter of the memory: "
                "make a view of the columns and rows that are needed"
            )
        batches.append(batch)
    return pa.Table.from_batches(batches, reader.schema)
