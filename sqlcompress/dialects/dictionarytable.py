"""The table in which a database keeps its dictionaries, read through SQLAlchemy and through a bare driver."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import sqlalchemy as sa
from sqlalchemy.dialects import mysql
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.functions import FunctionElement

from sqlcompress.dialects.names import PREFIX

if TYPE_CHECKING:
    from sqlalchemy.engine import Dialect

NAME = f"{PREFIX}dictionary"

_MOMENT = sa.DateTime().with_variant(mysql.DATETIME(fsp=6), "mysql", "mariadb")
_BLOB = sa.LargeBinary().with_variant(mysql.LONGBLOB(), "mysql", "mariadb")


def _text(length: int) -> sa.types.TypeEngine[str]:
    """Text that is compared byte by byte."""
    binary = mysql.VARCHAR(length, charset="utf8mb4", collation="utf8mb4_bin")
    return sa.String(length).with_variant(binary, "mysql", "mariadb")


#: Longest name of a dictionary, in characters.
NAME_LENGTH = 255


def dictionary_table(schema: str | None) -> sa.Table:
    """The table, one row for each dictionary; the content of a row never changes.

    Args:
        schema: Its schema; None for the connection's default.
    """
    return sa.Table(
        NAME,
        sa.MetaData(),
        sa.Column("id", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("name", _text(NAME_LENGTH), nullable=False),
        sa.Column("content", _BLOB, nullable=False),
        sa.Column("sha256", _text(64), nullable=False),
        # All moments are UTC by the server's clock.
        sa.Column("created_at", _MOMENT, nullable=False),
        sa.Column("activated_at", _MOMENT),
        sa.Column("retired_at", _MOMENT),
        sa.Column("level", sa.Integer),
        sa.Column("sample_rows", sa.BigInteger),
        sa.Column("sample_bytes", sa.BigInteger),
        sa.Column("held_out_rows", sa.BigInteger),
        sa.Column("held_out_bytes", sa.BigInteger),
        sa.Column("stored_bytes", sa.BigInteger),
        sa.Column("stored_bytes_without", sa.BigInteger),
        schema=schema,
        mysql_engine="InnoDB",
        mariadb_engine="InnoDB",
    )


# The server's clock -----------------------------------------------------------------------------------------


class utc_in(FunctionElement[Any]):  # noqa: N801 - named like a function, as SQLAlchemy's are
    """The moment so many seconds from now, UTC, by the server's clock; not when the transaction began."""

    type = _MOMENT
    inherit_cache = False  # the seconds are part of the text

    def __init__(self, seconds: float = 0.0) -> None:
        super().__init__()
        self.seconds = float(seconds)


def utc_sql(dialect: Dialect, seconds: float = 0.0) -> str:
    """:class:`utc_in` as SQL."""
    if dialect.name == "postgresql":
        return f"(timezone('utc', clock_timestamp()) + {seconds!r} * interval '1 second')"
    if dialect.name in {"mysql", "mariadb"}:
        microseconds = round(seconds * 1_000_000)
        return f"(UTC_TIMESTAMP(6) + INTERVAL {microseconds} MICROSECOND)"
    if dialect.name == "sqlite":
        # As SQLAlchemy's DateTime writes it, so that the texts compare in order of time.
        return f"(strftime('%Y-%m-%d %H:%M:%f000', 'now', '{seconds!r} seconds'))"
    raise NotImplementedError(f"no dictionaries on {dialect.name}")


@compiles(utc_in)
def _utc_in(element: utc_in, compiler: Any, **kw: Any) -> str:
    del kw
    return utc_sql(compiler.dialect, element.seconds)  # the only % is SQLite's, which does not double it


# Through a bare driver --------------------------------------------------------------------------------------


def quoted_name(dialect: Dialect, schema: str | None) -> str:
    """The table's name for a statement without parameters."""
    quote = dialect.identifier_preparer.quote_identifier
    name = NAME if schema is None else f"{quote(schema)}.{NAME}"
    # Without parameters no driver turns %% into one.
    return name.replace("%%", "%") if dialect.paramstyle in {"format", "pyformat"} else name


def overview_sql(dialect: Dialect, schema: str | None) -> str:
    """All dictionaries: id, name, and whether it is written with; the latest of a name last."""
    is_due = f"retired_at IS NULL AND activated_at <= {utc_sql(dialect)}"
    return (
        f"SELECT id, name, CASE WHEN {is_due} THEN 1 ELSE 0 END"
        f" FROM {quoted_name(dialect, schema)} ORDER BY activated_at, created_at, id"
    )


def contents_sql(dialect: Dialect, schema: str | None, ids: list[int]) -> str:
    """Some dictionaries with their content: id, name, content, sha256."""
    listed = ", ".join(str(int(dictionary_id)) for dictionary_id in ids)
    return f"SELECT id, name, content, sha256 FROM {quoted_name(dialect, schema)} WHERE id IN ({listed})"


def exists_sql(dialect: Dialect, schema: str | None) -> str | None:
    """Whether the table is there, on databases that write a failed SELECT into their log; None on others."""
    if dialect.name != "postgresql":
        return None
    name = quoted_name(dialect, schema).replace("'", "''")
    return f"SELECT to_regclass('{name}') IS NOT NULL"


def is_missing(dialect: Dialect, error: BaseException) -> bool:
    """Whether a driver's error says that the table is not there."""
    if dialect.name == "postgresql":
        code = getattr(error, "sqlstate", None) or getattr(error, "pgcode", None)
        return code in {"42P01", "3F000"}
    if dialect.name in {"mysql", "mariadb"}:
        return bool(error.args) and error.args[0] in {1146, 1049}
    return "no such table" in str(error)
