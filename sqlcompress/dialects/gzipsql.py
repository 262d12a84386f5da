"""The plain value of a compressed column in SQL on SQL Server and Oracle, which decode gzip.

Neither server was at hand; what is said of them here is from their manuals, and where these are silent from
what others measured, which is said. The expressions are built so that a mistake in that makes a statement
fail and never gives a wrong answer: a text counts only if encoding it in UTF-8 again gives the very bytes it
was read from, and on SQL Server a decoded value only if it has the size that the gzip member declares.
"""

from __future__ import annotations

from typing import Final

from sqlcompress.codec import Gzip
from sqlcompress.dialects.base import ColumnSettings, NoDecoderError
from sqlcompress.frames import GZIP_MAGIC, ZLIB_MAGIC, ZSTD_MAGIC

_FAILURE: Final = "'sqlcompress cannot decode a value of '"


def check_decodable(database: str, settings: ColumnSettings) -> None:
    """Raise where a column may hold what these databases cannot decode.

    Args:
        database: Its name, for a message.
        settings: Of the column.

    Raises:
        NoDecoderError: The column is of another codec than gzip, or reads legacy formats.
    """
    if not isinstance(settings.codec, Gzip):
        raise NoDecoderError(f"{database} decodes gzip alone")
    if settings.legacy:
        raise NoDecoderError(f"{database} cannot tell values of legacy formats from plain ones")


# SQL Server ------------------------------------------------------------------------------------------------

#: One of the UTF-8 collations, which came with SQL Server 2019 ("Collation and Unicode support"). What it
#: says of comparing does not matter, since nothing is compared by it.
_UTF8_COLLATION: Final = "Latin1_General_100_CI_AS_SC_UTF8"
_XML_START: Final = b'<?xml version="1.0" encoding="UTF-8"?><t>'
_XML_END: Final = b"</t>"
#: What XML would take for markup, and carriage returns, which it would turn into line feeds (XML 1.0, section
#: 2.11). The ampersand is first, since the others bring one.
_XML_REFERENCES: Final = (("'&'", "'&amp;'"), ("'<'", "'&lt;'"), ("'>'", "'&gt;'"), ("CHAR(13)", "'&#13;'"))


def mssql_size_sql(column_sql: str) -> str:
    """The bytes of the plain value; raises for whatever cannot be decoded, NULL for NULL alone.

    The manual's "DECOMPRESS" says nothing of bad input. Measured by the project bitsql on SQL Server 2025
    (its page "COMPRESS, DECOMPRESS, CHECKSUM"): error 9826 for a damaged member, a wrong checksum included,
    but NULL for one that ends too early, no word of a trailer that is cut, and bytes after the member are
    ignored. So the size has to be what the last four bytes say (RFC 1952, section 2.3.1: the lowest byte
    first), as an integer is in BINARY(4) with the highest first ("binary and varbinary").

    Args:
        column_sql: The column, quoted.
    """
    # To SQL Server, binary values that differ in zero bytes at the end alone are equal. That does no harm
    # here: no magic ends in one, and the size has four bytes.
    end = f"DATALENGTH({column_sql})"
    offsets = (end, *(f"{end} - {back}" for back in (1, 2, 3)))
    declared = " + ".join(f"SUBSTRING({column_sql}, {offset}, 1)" for offset in offsets)
    size = f"DATALENGTH(DECOMPRESS({column_sql}))"
    return (
        f"CASE WHEN {_mssql_begins(column_sql, GZIP_MAGIC)} THEN"
        f" CASE WHEN CAST(CAST({size} AS INT) AS BINARY(4)) = {declared}"
        f" THEN {size} ELSE {_mssql_failure(column_sql)} END"
        f" WHEN {_mssql_begins(column_sql, ZLIB_MAGIC)} OR {_mssql_begins(column_sql, ZSTD_MAGIC)}"
        f" THEN {_mssql_failure(column_sql)}"
        f" ELSE DATALENGTH({column_sql}) END"
    )


def mssql_bytes_sql(column_sql: str) -> str:
    """The plain bytes, VARBINARY(max); raises as `mssql_size_sql` does.

    Args:
        column_sql: The column, quoted.
    """
    # CASE stops at the first condition that holds ("CASE", Remarks), so DECOMPRESS never sees a plain value,
    # which would be an error.
    return f"CASE WHEN {mssql_size_sql(column_sql)} >= 0 THEN {_mssql_decoded(column_sql)} END"


def mssql_text_sql(column_sql: str) -> str:
    """The plain text, NVARCHAR(max) of the database's collation; raises as `mssql_size_sql` does.

    No function reads bytes as UTF-8. CAST to VARCHAR gives them the default collation of the database, with
    its code page ("CAST and CONVERT", Output Collation), and a COLLATE after that converts characters. So
    there are two ways to read a text, and the first that gives the same bytes again is taken:

    - CAST, right where the default collation is a UTF-8 one, and for ASCII everywhere.
    - The XML parser, to which VARBINARY is passed as it is, and which finds the encoding in it ("Create
      instances of XML data"). References stand for what it would alter. They are put in by REPLACE, which
      works on characters: right where the code page has one byte for a character.

    What remains raises: a text that is not ASCII, in a database whose default collation is a Chinese,
    Japanese or Korean one without UTF-8, or with a control character that XML lacks; and what is no UTF-8.
    Before SQL Server 2019 there are no UTF-8 collations, and every such statement is refused. XML methods are
    refused in GROUP BY ("Guidelines for using xml data type methods").

    Args:
        column_sql: The column, quoted.
    """
    decoded = _mssql_decoded(column_sql)
    cast = f"CAST({decoded} AS VARCHAR(MAX))"
    escaped = cast
    for character, reference in _XML_REFERENCES:
        escaped = f"REPLACE({escaped}, {character}, {reference})"
    document = (
        f"{_mssql_literal(_XML_START)} + CAST({escaped} AS VARBINARY(MAX)) + {_mssql_literal(_XML_END)}"
    )
    read = f"CAST({cast} AS NVARCHAR(MAX))"
    parsed = f"CAST({document} AS XML).value('.', 'NVARCHAR(MAX)')"
    # Zero bytes at the end count too, see above: so something follows them.
    ways = " ".join(
        f"WHEN {mssql_utf8_sql(text)} + 0x01 = {decoded} + 0x01 THEN {text}" for text in (read, parsed)
    )
    return (
        f"CASE WHEN {mssql_size_sql(column_sql)} >= 0 THEN"
        f" CASE {ways} ELSE CAST({_mssql_failure(column_sql)} AS NVARCHAR(MAX)) END END"
    )


def mssql_utf8_sql(text: str) -> str:
    """The UTF-8 of a text that is NVARCHAR.

    CAST of a string to a string keeps its collation ("CAST and CONVERT", Output Collation), VARCHAR of a
    UTF-8 collation is in UTF-8 ("Collation and Unicode support"), and CAST to VARBINARY takes its bytes.

    Args:
        text: The expression.
    """
    return f"CAST(CAST({text} COLLATE {_UTF8_COLLATION} AS VARCHAR(MAX)) AS VARBINARY(MAX))"


def _mssql_decoded(column_sql: str) -> str:
    gzip = _mssql_begins(column_sql, GZIP_MAGIC)
    return f"CASE WHEN {gzip} THEN DECOMPRESS({column_sql}) ELSE {column_sql} END"


def _mssql_begins(column_sql: str, magic: bytes) -> str:
    return f"SUBSTRING({column_sql}, 1, {len(magic)}) = {_mssql_literal(magic)}"


def _mssql_literal(value: bytes) -> str:
    return f"0x{value.hex()}"


def _mssql_failure(column_sql: str) -> str:
    # Error 245, "Conversion failed when converting the varchar value '…' to data type int". Not a constant,
    # which the optimizer might compute before any row is looked at, and not a division by zero, which gives
    # NULL where ARITHABORT and ANSI_WARNINGS are off ("SET ARITHABORT").
    return f"CAST({_FAILURE} + CAST(DATALENGTH({column_sql}) AS VARCHAR(20)) + ' bytes' AS INT)"


# Oracle ----------------------------------------------------------------------------------------------------

#: The number of AL32UTF8, as NLS_CHARSET_ID('AL32UTF8') gives it.
_AL32UTF8: Final = 873


def oracle_bytes_sql(column_sql: str) -> str:
    """The plain bytes, a BLOB.

    UTL_COMPRESS.LZ_UNCOMPRESS verifies its input and raises ORA-29294 or ORA-29293 ("PL/SQL Packages and
    Types Reference", UTL_COMPRESS); a frame of another codec raises ORA-01465, "invalid hex number".

    Args:
        column_sql: The column, quoted.
    """
    return (
        f"CASE WHEN {_oracle_begins(column_sql, GZIP_MAGIC)} THEN UTL_COMPRESS.LZ_UNCOMPRESS({column_sql})"
        f" WHEN {_oracle_begins(column_sql, ZLIB_MAGIC)} OR {_oracle_begins(column_sql, ZSTD_MAGIC)}"
        f" THEN {_oracle_failure(column_sql)}"
        f" ELSE {column_sql} END"
    )


def oracle_text_sql(column_sql: str) -> str:
    """The plain text, a CLOB of the database's character set; raises as `oracle_bytes_sql` does.

    TO_CLOB(blob, csid) converts from any character set ("SQL Language Reference", TO_CLOB (bfile|blob), from
    12.2 on), and puts a replacement for what the database's character set lacks and for what is no UTF-8.
    Such a text gives other bytes when it is converted back, and raises ORA-01465.

    Args:
        column_sql: The column, quoted.
    """
    plain = oracle_bytes_sql(column_sql)
    text = f"TO_CLOB({plain}, {_AL32UTF8})"
    return (
        f"CASE WHEN {column_sql} IS NOT NULL THEN"
        f" CASE WHEN DBMS_LOB.COMPARE({oracle_utf8_sql(text)}, {plain}) = 0 THEN {text}"
        f" ELSE TO_CLOB({_oracle_failure(column_sql)}, {_AL32UTF8}) END END"
    )


def oracle_utf8_sql(text: str) -> str:
    """The UTF-8 of a text, a BLOB.

    TO_BLOB with a character set stands in the "SecureFiles and Large Objects Developer's Guide", "Explicit
    Data Type Conversion Functions", of 21c; a server without it refuses the statement.

    Args:
        text: The expression.
    """
    return f"TO_BLOB({text}, {_AL32UTF8})"


def _oracle_begins(column_sql: str, magic: bytes) -> str:
    return f"DBMS_LOB.SUBSTR({column_sql}, {len(magic)}, 1) = HEXTORAW('{magic.hex()}')"


def _oracle_failure(column_sql: str) -> str:
    # Not a constant, as on SQL Server.
    return f"TO_BLOB(HEXTORAW({_FAILURE} || DBMS_LOB.GETLENGTH({column_sql}) || ' bytes'))"
