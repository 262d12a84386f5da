"""The expressions for the plain value on SQL Server and Oracle, which no test runs: word for word."""

from __future__ import annotations

import re
from xml.etree import ElementTree as ET

import pytest
import sqlalchemy as sa
from sqlalchemy.dialects import mssql, oracle

from sqlcompress import (
    CompressedBinary,
    CompressedJSON,
    CompressedText,
    Gzip,
    Zlib,
    Zstd,
    decompressed,
    stored_size,
    uncompressed_size,
)
from sqlcompress.dialects import gzipsql
from sqlcompress.guard import guarded

T = sa.Table(
    "t",
    sa.MetaData(),
    sa.Column("id", sa.Integer),
    sa.Column("body", CompressedText(Gzip())),
    sa.Column("meta", CompressedJSON(Gzip())),
    sa.Column("data", CompressedBinary(Gzip())),
).c
DIALECTS = {"mssql": mssql.dialect(), "oracle": oracle.dialect()}
for dialect in DIALECTS.values():
    dialect.statement_compiler = guarded(dialect.statement_compiler)

MSSQL_FAILURE = (
    "CAST('sqlcompress cannot decode a value of ' + CAST(DATALENGTH(t.x) AS VARCHAR(20)) + ' bytes' AS INT)"
)
MSSQL_SIZE = (
    "CASE WHEN SUBSTRING(t.x, 1, 3) = 0x1f8b08"
    " THEN CASE WHEN CAST(CAST(DATALENGTH(DECOMPRESS(t.x)) AS INT) AS BINARY(4)) ="
    " SUBSTRING(t.x, DATALENGTH(t.x), 1) + SUBSTRING(t.x, DATALENGTH(t.x) - 1, 1)"
    " + SUBSTRING(t.x, DATALENGTH(t.x) - 2, 1) + SUBSTRING(t.x, DATALENGTH(t.x) - 3, 1)"
    f" THEN DATALENGTH(DECOMPRESS(t.x)) ELSE {MSSQL_FAILURE} END"
    " WHEN SUBSTRING(t.x, 1, 2) = 0x789c OR SUBSTRING(t.x, 1, 4) = 0x28b52ffd"
    f" THEN {MSSQL_FAILURE}"
    " ELSE DATALENGTH(t.x) END"
)
MSSQL_DECODED = "CASE WHEN SUBSTRING(t.x, 1, 3) = 0x1f8b08 THEN DECOMPRESS(t.x) ELSE t.x END"
MSSQL_BYTES = f"CASE WHEN {MSSQL_SIZE} >= 0 THEN {MSSQL_DECODED} END"
MSSQL_READ = f"CAST(CAST({MSSQL_DECODED} AS VARCHAR(MAX)) AS NVARCHAR(MAX))"
MSSQL_PARSED = (
    "CAST(0x3c3f786d6c2076657273696f6e3d22312e302220656e636f64696e673d225554462d38223f3e3c743e"
    " + CAST(REPLACE(REPLACE(REPLACE(REPLACE("
    f"CAST({MSSQL_DECODED} AS VARCHAR(MAX))"
    ", '&', '&amp;'), '<', '&lt;'), '>', '&gt;'), CHAR(13), '&#13;') AS VARBINARY(MAX))"
    " + 0x3c2f743e AS XML).value('.', 'NVARCHAR(MAX)')"
)
MSSQL_TEXT = (
    f"CASE WHEN {MSSQL_SIZE} >= 0 THEN CASE"
    f" WHEN CAST(CAST({MSSQL_READ} COLLATE Latin1_General_100_CI_AS_SC_UTF8 AS VARCHAR(MAX))"
    f" AS VARBINARY(MAX)) + 0x01 = {MSSQL_DECODED} + 0x01 THEN {MSSQL_READ}"
    f" WHEN CAST(CAST({MSSQL_PARSED} COLLATE Latin1_General_100_CI_AS_SC_UTF8 AS VARCHAR(MAX))"
    f" AS VARBINARY(MAX)) + 0x01 = {MSSQL_DECODED} + 0x01 THEN {MSSQL_PARSED}"
    f" ELSE CAST({MSSQL_FAILURE} AS NVARCHAR(MAX)) END END"
)

ORACLE_FAILURE = (
    "TO_BLOB(HEXTORAW('sqlcompress cannot decode a value of ' || DBMS_LOB.GETLENGTH(t.x) || ' bytes'))"
)
ORACLE_BYTES = (
    "CASE WHEN DBMS_LOB.SUBSTR(t.x, 3, 1) = HEXTORAW('1f8b08') THEN UTL_COMPRESS.LZ_UNCOMPRESS(t.x)"
    " WHEN DBMS_LOB.SUBSTR(t.x, 2, 1) = HEXTORAW('789c')"
    " OR DBMS_LOB.SUBSTR(t.x, 4, 1) = HEXTORAW('28b52ffd')"
    f" THEN {ORACLE_FAILURE} ELSE t.x END"
)
ORACLE_TEXT = (
    "CASE WHEN t.x IS NOT NULL THEN"
    f" CASE WHEN DBMS_LOB.COMPARE(TO_BLOB(TO_CLOB({ORACLE_BYTES}, 873), 873), {ORACLE_BYTES}) = 0"
    f" THEN TO_CLOB({ORACLE_BYTES}, 873) ELSE TO_CLOB({ORACLE_FAILURE}, 873) END END"
)


def of(column, expression):
    return re.sub(r"\bt\.x\b", f"t.{column}", expression)


def compiled(expression, dialect):
    """The SQL of an expression, without the SELECT around it."""
    sql = str(sa.select(expression.label("x")).compile(dialect=DIALECTS[dialect]))
    return re.fullmatch(r"SELECT (.*) AS x\s+FROM t", sql, re.DOTALL)[1]


EXPECTED = {
    "text": (
        lambda: decompressed(T.body),
        {"mssql": of("body", MSSQL_TEXT), "oracle": of("body", ORACLE_TEXT)},
    ),
    "document": (
        lambda: decompressed(T.meta),
        {"mssql": of("meta", MSSQL_TEXT)},
    ),
    "bytes": (
        lambda: decompressed(T.data),
        {"mssql": of("data", MSSQL_BYTES), "oracle": of("data", ORACLE_BYTES)},
    ),
    **{
        f"size of {name}": (
            lambda name=name: uncompressed_size(T[name]),
            {"mssql": of(name, MSSQL_SIZE), "oracle": f"DBMS_LOB.GETLENGTH({of(name, ORACLE_BYTES)})"},
        )
        for name in ("body", "meta", "data")
    },
    "stored size": (
        lambda: stored_size(T.body),
        {"mssql": "DATALENGTH(t.body)", "oracle": "DBMS_LOB.GETLENGTH(t.body)"},
    ),
    "coalesce, closed again": (
        lambda: sa.func.coalesce(T.body, "x"),
        {
            "mssql": f"CAST(CAST(CAST(coalesce({of('body', MSSQL_TEXT)}, :coalesce_1) AS NVARCHAR(MAX))"
            " COLLATE Latin1_General_100_CI_AS_SC_UTF8 AS VARCHAR(MAX)) AS VARBINARY(MAX))",
            "oracle": f"TO_BLOB(coalesce({of('body', ORACLE_TEXT)}, :coalesce_1), 873)",
        },
    ),
    "concatenation, closed again": (
        lambda: T.body + "x",
        {
            "mssql": f"CAST(CAST(CAST({of('body', MSSQL_TEXT)} + :param_1 AS NVARCHAR(MAX))"
            " COLLATE Latin1_General_100_CI_AS_SC_UTF8 AS VARCHAR(MAX)) AS VARBINARY(MAX))",
            "oracle": f"TO_BLOB({of('body', ORACLE_TEXT)} || :param_1, 873)",
        },
    ),
    "length": (
        lambda: sa.func.length(sa.func.coalesce(T.body, "x")),
        {
            "mssql": f"LEN(coalesce({of('body', MSSQL_TEXT)}, :coalesce_1))",
            "oracle": f"length(coalesce({of('body', ORACLE_TEXT)}, :coalesce_1))",
        },
    ),
    "is null": (
        lambda: sa.case((T.body.is_(None), 1), else_=0),
        {
            "mssql": "CASE WHEN (t.body IS NULL) THEN :param_1 ELSE :param_2 END",
            "oracle": "CASE WHEN (t.body IS NULL) THEN :param_1 ELSE :param_2 END",
        },
    ),
}


@pytest.mark.parametrize(
    ("name", "dialect"), [(name, dialect) for name in EXPECTED for dialect in EXPECTED[name][1]]
)
def test_expressions(name, dialect):
    make, expected = EXPECTED[name]
    assert compiled(make(), dialect) == expected[dialect]


@pytest.mark.parametrize(("dialect", "text"), [("mssql", MSSQL_TEXT), ("oracle", ORACLE_TEXT)])
def test_operators_of_the_column(dialect, text):
    statement = sa.select(T.id).where(T.body.like("%x%")).order_by(T.body)
    plain = of("body", text)
    assert str(statement.compile(dialect=DIALECTS[dialect])) == (
        f"SELECT t.id \nFROM t \nWHERE {plain} LIKE :param_1 ORDER BY {plain}"
    )


def test_json_paths_on_sql_server():
    document = of("meta", MSSQL_TEXT)
    value = f"JSON_VALUE({document}, :param_1)"
    assert compiled(T.meta["a"].as_string(), "mssql") == f"CASE {value} WHEN NULL THEN NULL ELSE {value} END"
    assert compiled(T.meta["a"].as_json(), "mssql") == f"JSON_QUERY({document}, :param_1)"


def test_documents_are_refused_on_oracle():
    for expression in (T.meta["a"].as_string(), decompressed(T.meta), decompressed(T.meta)["a"].as_json()):
        with pytest.raises(sa.exc.CompileError, match=r"JSON_QUERY gives NULL on an error|json_getitem_op"):
            compiled(expression, "oracle")


@pytest.mark.parametrize("kind", [CompressedText, CompressedJSON, CompressedBinary])
@pytest.mark.parametrize("dialect", DIALECTS)
def test_refused_for_other_settings(dialect, kind):
    name = {"mssql": "SQL Server", "oracle": "Oracle"}[dialect]
    for settings, reason in (
        ({"codec": Zstd()}, f"{name} decodes gzip alone"),
        ({"codec": Zlib()}, f"{name} decodes gzip alone"),
        ({"codec": Gzip(), "legacy": ("zlib",)}, f"{name} cannot tell values of legacy formats"),
    ):
        column = sa.Table("t", sa.MetaData(), sa.Column("x", kind(**settings))).c.x
        for expression in (decompressed(column), uncompressed_size(column)):
            with pytest.raises(sa.exc.CompileError, match=rf"t\.x .* cannot be decoded .*: {reason}"):
                compiled(expression, dialect)
        assert compiled(stored_size(column), dialect) == stored_size_of(dialect)


def stored_size_of(dialect):
    return {"mssql": "DATALENGTH(t.x)", "oracle": "DBMS_LOB.GETLENGTH(t.x)"}[dialect]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_without_a_guard(dialect):
    module = {"mssql": mssql, "oracle": oracle}[dialect]
    statement = sa.select(decompressed(T.body).label("x"))
    sql = str(statement.compile(dialect=module.dialect()))
    assert sql == str(statement.compile(dialect=DIALECTS[dialect]))
    with pytest.raises(sa.exc.CompileError, match=r"needs sqlcompress\.install"):
        sa.select(T.id).where(T.body == "x").compile(dialect=module.dialect())


@pytest.mark.parametrize("size", [1, 255, 256, 70_000])
def test_a_member_ends_with_the_size_that_sql_server_is_to_find(size):
    frame = Gzip().compressor()(b"x" * size)
    assert frame.startswith(b"\x1f\x8b\x08")
    assert frame[:-5:-1] == size.to_bytes(4, "big")  # the last byte first, as the expression takes them


@pytest.mark.parametrize(
    "text",
    [
        "é",
        "é\r\nb\rc\nd\t",
        "<é> & ]]> &amp; &#13; <!-- \"'",
        " é ",
        "\ufeffé",
        "日本語 🎉 \U0010fffd",
        "é\x85\u2028",
    ],
)
def test_the_document_that_sql_server_is_to_parse_has_the_text(text):
    # As the server makes it, under a code page of one byte for a character.
    characters = text.encode().decode("latin-1")
    for character, reference in gzipsql._XML_REFERENCES:
        characters = characters.replace("\r" if "CHAR(13)" in character else character[1:-1], reference[1:-1])
    document = gzipsql._XML_START + characters.encode("latin-1") + gzipsql._XML_END
    assert ET.fromstring(document).text == text
