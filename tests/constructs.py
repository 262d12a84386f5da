"""Constructs of SQL over a compressed column, each written so that a plain column can stand in its place."""

from __future__ import annotations

import sqlalchemy as sa
from sqlalchemy import func
from sqlalchemy.dialects import mysql

from sqlcompress import CompressedJSON, CompressedText, Gzip, Zlib, Zstd, decompressed

LONGTEXT = sa.Text().with_variant(mysql.LONGTEXT(), "mysql", "mariadb")
JSON = sa.JSON(none_as_null=True)
CODECS = {
    "sqlite": (Zlib(), Zstd(), Gzip(), None),
    "postgresql": (Zlib(), Zstd(), Gzip(), None),
    "mysql": (Zlib(), None),
    "mariadb": (Zlib(), None),
}
TEXTS = [
    None,
    "",
    "short",
    "title 4",
    "The quick brown fox jumps over the lazy dog. " * 5,
    "100% of a_b\\c 'quoted' \"twice\" " * 6,
    "x\N{GREEK SMALL LETTER ALPHA}\N{GRINNING FACE} " * 30,
    "the end of all things, " * 9,
    "another text, which is longer than the others; " * 40,
    "7",
]


def table(metadata, name, text, json):
    return sa.Table(
        name,
        metadata,
        sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("title", sa.String(50)),
        sa.Column("body", text),
        sa.Column("other", text),
        sa.Column("meta", json),
    )


def rows():
    for number in range(40):
        text = TEXTS[number % len(TEXTS)]
        other = TEXTS[(number * 3) % len(TEXTS)]
        meta = None
        if number % 7:
            meta = {"n": number, "tag": f"t{number % 3}", "user": {"id": number % 5, "name": "x" * 80}}
            meta["list"] = [number, "a", None, True]
        yield {"id": number, "title": f"title {number % 6}", "body": text, "other": other, "meta": meta}


class Columns:
    """What a construct is written with: the plain table's columns or the compressed one's."""

    def __init__(self, table, codec):
        self.table = table
        self.is_plain = codec is None
        self.text = LONGTEXT if codec is None else CompressedText(codec)
        self.id, self.title = table.c.id, table.c.title
        self.body, self.other, self.meta = table.c.body, table.c.other, table.c.meta
        self.again = table.alias("again")
        self.once_more = table.alias("once_more")
        self.inner = sa.select(self.id, self.title, self.body).where(self.id < 30).subquery("inner_one")


def tables_of(metadata, database):
    plain = table(metadata, "plain", LONGTEXT, JSON)
    codec = CODECS[database][0]
    packed = table(metadata, "packed", CompressedText(codec), CompressedJSON(codec, none_as_null=True))
    return Columns(plain, None), Columns(packed, codec)


def fill(connection, database, plain, packed):
    connection.execute(sa.insert(plain.table), list(rows()))
    codecs = CODECS[database]
    for number, codec in enumerate(codecs):
        # A column of another codec, or of one that never compresses, writes to the same table.
        type_, least = codec or "zstd", 0 if codec else 1_000_000
        other = table(
            sa.MetaData(),
            "packed",
            CompressedText(type_, min_size=least),
            CompressedJSON(type_, min_size=least, none_as_null=True),
        )
        connection.execute(sa.insert(other), [row for row in rows() if row["id"] % len(codecs) == number])


def recursive(c):
    start = sa.select(c.id, c.body).where(c.id == 1).cte("down", recursive=True)
    step = c.table.alias("next")
    more = sa.select(step.c.id, step.c.body).where(step.c.id == start.c.id + 1, step.c.id < 9)
    whole = start.union_all(more)
    return sa.select(whole.c.id).where(whole.c.body.like("%e%")).order_by(whole.c.id)


def where(make):
    return lambda c: sa.select(c.id).where(make(c)).order_by(c.id)


def columns(make):
    return lambda c: sa.select(c.id, make(c)).order_by(c.id)


#: Name: the statement. Rows come in the order of the statement, where it has one.
EQUAL = {
    # Operators on the column.
    "==": where(lambda c: c.body == "short"),
    "!=": where(lambda c: c.body != "short"),
    "<": where(lambda c: c.body < "t"),
    "<=": where(lambda c: c.body <= "short"),
    ">": where(lambda c: c.body > "short"),
    ">=": where(lambda c: c.body >= "short"),
    "like": where(lambda c: c.body.like("%brown fox%")),
    "like with escape": where(lambda c: c.body.like("100/%%", escape="/")),
    "not_like": where(lambda c: c.body.not_like("%fox%")),
    "ilike": where(lambda c: c.body.ilike("%QUICK%")),
    "not_ilike": where(lambda c: c.body.not_ilike("%QUICK%")),
    "startswith": where(lambda c: c.body.startswith("The")),
    "endswith": where(lambda c: c.body.endswith("dog. ")),
    "contains": where(lambda c: c.body.contains("100%", autoescape=True)),
    "icontains": where(lambda c: c.body.icontains("LAZY")),
    "in_": where(lambda c: c.body.in_(["short", "", "7"])),
    "in_ nothing": where(lambda c: c.body.in_([])),
    "not_in": where(lambda c: c.body.not_in(["short", "7"])),
    "between": where(lambda c: c.body.between("a", "t")),
    "not between": where(lambda c: ~c.body.between("a", "t")),
    "is_(None)": where(lambda c: c.body.is_(None)),
    "== None": where(lambda c: c.body == None),  # noqa: E711
    "is_not(None)": where(lambda c: c.body.is_not(None)),
    "is_distinct_from": where(lambda c: c.body.is_distinct_from("short")),
    "is_not_distinct_from": where(lambda c: c.body.is_not_distinct_from("short")),
    "is_distinct_from(None)": where(lambda c: c.body.is_distinct_from(None)),
    "regexp_match": where(lambda c: c.body.regexp_match("^The.*lazy")),
    "regexp_replace": columns(
        lambda c: c.body.regexp_replace("quick", "slow") if c.has_regexp_replace else c.title
    ),
    "op": where(lambda c: c.body.op("LIKE")("%fox%")),
    "bool_op": where(lambda c: c.body.bool_op("LIKE")("%fox%")),
    "collate": where(lambda c: c.body.collate(c.collation) == "short"),
    "and_ or_ not_": where(lambda c: sa.or_(c.body == "7", sa.and_(c.body != "", ~c.body.like("%e%")))),
    # From the other side, and between columns.
    "plain == column": where(lambda c: c.title == c.body),
    "plain != column": where(lambda c: c.title != c.body),
    "plain < column": where(lambda c: c.title < c.body),
    "plain like column": where(lambda c: sa.literal("short").like(c.body)),
    "plain in list": where(lambda c: sa.literal("short").in_([c.body, c.other])),
    "plain between": where(lambda c: c.title.between(c.body, c.other)),
    "literal == column": where(lambda c: sa.literal("short") == c.body),
    "typed literal": where(lambda c: c.body == sa.literal("short", c.text)),
    "plain == typed literal": where(lambda c: c.title == sa.literal("title 4", c.text)),
    "bindparam": where(lambda c: c.body == sa.bindparam("v", "short")),
    "column == column": where(lambda c: c.body == c.other),
    "column < column": where(lambda c: c.body < c.other),
    "column in columns": where(lambda c: c.body.in_([c.other, c.title])),
    "is_distinct_from column": where(lambda c: c.title.is_distinct_from(c.body)),
    "tuple in": where(lambda c: sa.tuple_(c.title, c.body).in_([("title 2", "short"), ("title 4", "7")])),
    "tuple in select": where(lambda c: sa.tuple_(c.id, c.body).in_(sa.select(c.again.c.id, c.again.c.other))),
    "self join": lambda c: (
        sa.select(c.id, c.again.c.id)
        .join(c.again, sa.and_(c.again.c.other == c.body, c.again.c.id == c.id))
        .order_by(c.id)
    ),
    # Concatenation, functions, CAST, CASE.
    "+": columns(lambda c: c.body + "!"),
    "+ column": columns(lambda c: c.body + c.other),
    "concat": columns(lambda c: c.body.concat("!")),
    "from the right": columns(lambda c: "<" + c.body),
    "plain + column": columns(lambda c: c.title + c.body),
    "+ compared": where(lambda c: c.body + "!" == "short!"),
    "+ in a function": columns(lambda c: func.lower(c.body + "!")),
    "lower": columns(lambda c: func.lower(c.body)),
    "upper": columns(lambda c: func.upper(c.body)),
    "length": columns(lambda c: func.char_length(c.body) if c.has_char_length else func.length(c.body)),
    "substr": columns(lambda c: func.substr(c.body, 1, 4)),
    "replace": columns(lambda c: func.replace(c.body, "fox", "cat")),
    "trim": columns(lambda c: func.trim(c.body)),
    "function + column": columns(lambda c: func.lower(c.body) + c.other),
    "function + column compared": where(lambda c: func.lower(c.body) + c.other == "shortshort"),
    "function + column sorted": lambda c: sa.select(c.id).order_by(func.lower(c.body) + c.other, c.id),
    "untyped + column": where(lambda c: sa.literal_column("'<'") + c.body == "<short"),
    "label compared": where(lambda c: func.coalesce(c.body, "z").label("m") == "short"),
    "coalesce of coalesce": where(lambda c: func.coalesce(c.body, func.coalesce(c.other, "z")) == "short"),
    "coalesce of coalesce selected": columns(lambda c: func.coalesce(c.body, func.coalesce(c.other, "z"))),
    "coalesce of max": lambda c: (
        sa.select(c.title)
        .group_by(c.title)
        .having(func.coalesce(func.max(c.body), func.max(c.other)) == "short")
        .order_by(c.title)
    ),
    "case of max": lambda c: (
        sa.select(c.id)
        .group_by(c.id, c.body)
        .having(sa.case((c.id == 5, c.body), else_=func.max(c.other)) == "short")
        .order_by(c.id)
    ),
    "case of case": where(
        lambda c: sa.case((c.id > 20, sa.case((c.id > 30, c.body), else_="x")), else_=c.other) == "short"
    ),
    "max label compared": lambda c: (
        sa.select(c.title).group_by(c.title).having(func.max(c.body).label("m") > "s").order_by(c.title)
    ),
    "coalesce of a scalar subquery": where(
        lambda c: (
            func.coalesce(sa.select(c.again.c.other).where(c.again.c.id == c.id).scalar_subquery(), "z")
            == "short"
        )
    ),
    "max of coalesce over": columns(
        lambda c: func.max(func.coalesce(c.body, "z")).over(partition_by=func.coalesce(c.other, "y"))
    ),
    "nested functions": where(lambda c: func.lower(func.substr(c.body, 1, 3)) == "the"),
    "function of two": columns(lambda c: func.coalesce(c.body, c.other)),
    "coalesce with a value": columns(lambda c: func.coalesce(c.body, "nothing")),
    "coalesce of plain first": columns(lambda c: func.coalesce(c.title, c.body)),
    "coalesce compared": where(lambda c: func.coalesce(c.body, "nothing") == "nothing"),
    "nullif": columns(lambda c: func.nullif(c.body, "short")),
    "concat function": columns(lambda c: func.concat(c.title, c.other + "!") if c.has_concat else c.title),
    "max": lambda c: sa.select(func.max(c.body)),
    "min": lambda c: sa.select(func.min(c.body)),
    "max in groups": lambda c: sa.select(c.title, func.max(c.body)).group_by(c.title).order_by(c.title),
    "max filtered": lambda c: sa.select(func.max(c.body).filter(c.id > 20)) if c.has_filter else sa.select(1),
    "count": lambda c: sa.select(func.count(c.body)),
    "count distinct": lambda c: sa.select(func.count(c.body.distinct())),
    "count(distinct())": lambda c: sa.select(func.count(sa.distinct(c.body))),
    "aggregate_strings": lambda c: (
        sa.select(func.aggregate_strings(c.other, ",")).where(c.id == 12)
        if hasattr(sa.sql.functions, "aggregate_strings")  # from SQLAlchemy 2.0.21 on
        else sa.select(c.id)
    ),
    "having": lambda c: (
        sa.select(c.title).group_by(c.title).having(func.max(c.body) > "the").order_by(c.title)
    ),
    "cast": columns(lambda c: sa.cast(c.body, sa.CHAR(5))),
    "cast compared": where(lambda c: sa.cast(c.body, sa.CHAR(5)) == "short"),
    "type_coerce": columns(lambda c: sa.type_coerce(c.body, sa.Text)),
    "type_coerce compared": where(lambda c: sa.type_coerce(c.body, sa.Text) == "short"),
    "case on the value": columns(lambda c: sa.case({"short": 1, "7": 2}, value=c.body, else_=3)),
    "case on a condition": columns(lambda c: sa.case((c.body == "short", "yes"), else_="no")),
    "case giving it": columns(lambda c: sa.case((c.id > 20, c.body), else_=c.other)),
    "case giving it or NULL": columns(lambda c: sa.case((c.id > 20, c.body))),
    "case giving it or a value": columns(lambda c: sa.case((c.id > 20, c.body), else_="none")),
    "case giving a value or it": columns(lambda c: sa.case((c.id > 20, "none"), else_=c.body)),
    "case giving it or plain": columns(lambda c: sa.case((c.id > 20, c.body), else_=c.title)),
    "case compared": where(lambda c: sa.case((c.id > 20, c.body), else_=c.other) == "short"),
    # Sorting.
    "order_by": lambda c: sa.select(c.id).order_by(c.body, c.id),
    "order_by desc": lambda c: sa.select(c.id).order_by(c.body.desc(), c.id),
    "order_by desc()": lambda c: sa.select(c.id).order_by(sa.desc(c.body), c.id),
    "order_by label": lambda c: sa.select(c.id, c.body.label("b")).order_by("b", c.id),
    "order_by label object": lambda c: sa.select(c.id, b := c.body.label("b")).order_by(b, c.id),
    "order_by label desc": lambda c: sa.select(c.id, b := c.body.label("b")).order_by(b.desc(), c.id),
    "order_by name": lambda c: sa.select(c.id, c.body).order_by("body", "id"),
    "order_by desc name": lambda c: sa.select(c.id, c.body).order_by(sa.desc("body"), "id"),
    "order_by function": lambda c: sa.select(c.id).order_by(func.lower(c.body), c.id),
    "order_by in a subquery": where(
        lambda c: (
            c.id
            == sa.select(c.again.c.id)
            .order_by(c.again.c.body.desc(), c.again.c.id)
            .limit(1)
            .scalar_subquery()
        )
    ),
    "row_number over": lambda c: sa.select(c.id, func.row_number().over(order_by=(c.body, c.id))).order_by(
        c.id
    ),
    "over name": lambda c: sa.select(
        c.id, c.body, func.row_number().over(order_by=(sa.desc("body"), c.id))
    ).order_by(c.id),
    "partition by": lambda c: sa.select(c.id, func.count().over(partition_by=c.body)).order_by(c.id),
    "first_value over": columns(lambda c: func.first_value(c.body).over(order_by=(c.body, c.id))),
    "max over": columns(lambda c: func.max(c.body).over(partition_by=c.title)),
    # Subqueries, CTEs, aliases.
    "alias": lambda c: (
        sa.select(c.again.c.id, c.again.c.body).where(c.again.c.body == "short").order_by("id")
    ),
    "subquery": lambda c: sa.select(c.inner).where(c.inner.c.body == "short").order_by("id"),
    "cte": lambda c: (
        sa.select(cte := sa.select(c.id, c.body).cte("cte")).where(cte.c.body != "short").order_by(cte.c.id)
    ),
    "recursive cte": recursive,
    "computed in a subquery": lambda c: (
        sa.select(s := sa.select(c.id, func.coalesce(c.body, "-").label("b")).subquery("s"))
        .where(s.c.b == "-")
        .order_by(s.c.id)
    ),
    "in select": where(lambda c: c.title.in_(sa.select(c.again.c.body))),
    "column in select": where(lambda c: c.body.in_(sa.select(c.again.c.title))),
    "column in select of it": where(lambda c: c.body.in_(sa.select(c.again.c.other).where(c.again.c.id < 9))),
    "not in select": where(
        lambda c: c.title.not_in(sa.select(c.again.c.body).where(c.again.c.body.is_not(None)))
    ),
    "in union": where(
        lambda c: c.title.in_(
            sa.union(sa.select(c.again.c.body), sa.select(c.again.c.title).where(c.again.c.id == 5))
            if c.is_plain
            else sa.union(
                sa.select(decompressed(c.again.c.body)),
                sa.select(c.again.c.title).where(c.again.c.id == 5),
            )
        )
    ),
    "in union of it": where(
        lambda c: c.title.in_(sa.union(sa.select(c.again.c.body), sa.select(c.again.c.other)))
    ),
    "scalar subquery": columns(
        lambda c: sa.select(c.again.c.body).where(c.again.c.id == c.id).scalar_subquery()
    ),
    "== scalar subquery": where(
        lambda c: c.title == sa.select(c.again.c.body).where(c.again.c.id == 3).scalar_subquery()
    ),
    "column == scalar subquery": where(
        lambda c: c.body == sa.select(c.again.c.other).where(c.again.c.id == c.id).scalar_subquery()
    ),
    "function of a scalar subquery": columns(
        lambda c: func.lower(sa.select(c.again.c.body).where(c.again.c.id == c.id).scalar_subquery())
    ),
    "exists": where(lambda c: sa.exists().where(c.again.c.body == c.title)),
    "exists of it": where(lambda c: sa.select(c.again.c.body).where(c.again.c.body == c.title).exists()),
    "any": where(
        lambda c: c.title == sa.any_(sa.select(c.again.c.body).scalar_subquery()) if c.has_any else c.id > 0
    ),
    "column any": where(
        lambda c: c.body == sa.any_(sa.select(c.again.c.other).scalar_subquery()) if c.has_any else c.id > 0
    ),
    "column all": where(
        lambda c: (
            c.body >= sa.all_(sa.select(c.again.c.other).where(c.again.c.other != "").scalar_subquery())
            if c.has_any
            else c.id > 0
        )
    ),
    "join on": lambda c: (
        sa.select(c.id, c.again.c.id).join(c.again, c.again.c.title == c.body).order_by(c.id, c.again.c.id)
    ),
    "lateral or correlated": columns(
        lambda c: (
            sa.select(func.count()).where(c.again.c.other == c.body).select_from(c.again).scalar_subquery()
        )
    ),
    # Handing on.
    "select": lambda c: sa.select(c.id, c.body, c.other).order_by(c.id),
    "union_all": lambda c: sa.union_all(
        sa.select(c.id, c.body).where(c.id < 10), sa.select(c.id, c.other).where(c.id >= 10)
    ).order_by("id"),
    "union with NULL": lambda c: sa.union_all(
        sa.select(c.id, c.body).where(c.id < 10), sa.select(c.id, sa.null()).where(c.id >= 10)
    ).order_by("id"),
    "limit and offset": lambda c: sa.select(c.id, c.body).order_by(c.body, c.id).limit(5).offset(3),
    # Documents.
    "path of a string": where(lambda c: c.meta["tag"].as_string() == "t1"),
    "path of an integer": where(lambda c: c.meta["n"].as_integer() > 20),
    "path of a float": where(lambda c: c.meta["n"].as_float() < 10),
    "path in a path": where(lambda c: c.meta[("user", "id")].as_integer() == 3),
    "path after path": where(lambda c: c.meta["user"]["id"].as_integer() == 3),
    "path into a list": where(lambda c: c.meta[("list", 0)].as_integer() == 11),
    "path in_": where(lambda c: c.meta["tag"].as_string().in_(["t0", "t2"])),
    "path like": where(lambda c: c.meta["tag"].as_string().like("%1")),
    "path ordered": lambda c: sa.select(c.id).order_by(c.meta["user"]["id"].as_integer(), c.id),
    "path selected": columns(lambda c: c.meta["user"]),
    "path is null": where(lambda c: c.meta.is_(None)),
    "document": columns(lambda c: c.meta),
    "document in case": columns(lambda c: sa.case((c.id > 20, c.meta))),
}

#: These are refused, whatever the database.
REFUSED = {
    "union with plain": lambda c: sa.union_all(sa.select(c.body), sa.select(c.title)),
    "union with plain first": lambda c: sa.union_all(sa.select(c.title), sa.select(c.body)),
    "union with a value": lambda c: sa.union_all(sa.select(c.body), sa.select(sa.literal("x"))),
    "except plain": lambda c: sa.except_(sa.select(c.body), sa.select(c.title)),
    "union sorted": lambda c: sa.union_all(sa.select(c.body), sa.select(c.other)).order_by("body"),
    "document == document": lambda c: sa.select(c.id).where(c.meta == c.again.c.meta),
    "document == value": lambda c: sa.select(c.id).where(c.meta == {"a": 1}),
    "document in": lambda c: sa.select(c.id).where(c.meta.in_([{"a": 1}])),
    "order_by document": lambda c: sa.select(c.id).order_by(c.meta),
    "order_by document desc": lambda c: sa.select(c.id).order_by(c.meta.desc()),
    "document distinct": lambda c: sa.select(func.count(c.meta.distinct())),
    "value == document": lambda c: sa.select(c.id).where(sa.literal("{}") == c.meta),
    "value in documents": lambda c: sa.select(c.id).where(c.title.in_(sa.select(c.again.c.meta))),
    "value == one document": lambda c: sa.select(c.id).where(
        c.title == sa.select(c.again.c.meta).where(c.again.c.id == 3).scalar_subquery()
    ),
    "document in documents": lambda c: sa.select(c.id).where(c.meta.in_(sa.select(c.again.c.meta))),
    "value any of documents": lambda c: sa.select(c.id).where(
        c.title == sa.any_(sa.select(c.again.c.meta).scalar_subquery())
    ),
    "max of a document": lambda c: sa.select(func.max(c.meta)),
    "case mixing documents": lambda c: sa.select(sa.case((c.id > 1, c.meta), else_=sa.literal({}, sa.JSON))),
    "document + text": lambda c: sa.select(c.meta + "x"),
    "cast to it": lambda c: sa.select(sa.cast(c.title, CompressedText())),
    "array of it": lambda c: sa.select(func.array_agg(c.body, type_=sa.ARRAY(CompressedText()))),
    "update plain": lambda c: sa.update(c.table).values(title=c.body),
    "update compressed": lambda c: sa.update(c.table).values(body=c.title),
    "update from another kind": lambda c: sa.update(c.table).values(body=c.meta),
    "update with a function": lambda c: sa.update(c.table).values(body=func.upper(c.body)),
    "update plain with a typed value": lambda c: sa.update(c.table).values(
        title=sa.literal("x", CompressedText())
    ),
    "insert from select": lambda c: sa.insert(c.table).from_select(
        ["id", "title"], sa.select(c.id + 100, c.body)
    ),
    "insert from plain select": lambda c: sa.insert(c.table).from_select(
        ["id", "body"], sa.select(c.id + 100, c.title)
    ),
    "insert many values": lambda c: sa.insert(c.table).values([{"id": 200, "title": c.body}]),
    "one name, two ways": lambda c: (
        sa.update(c.table).values(body=sa.bindparam("v")).where(c.body == sa.bindparam("v"))
    ),
}


class Asked(Columns):
    """What the database has of what not all have."""

    def __init__(self, columns, database):
        super().__init__(columns.table, None if columns.is_plain else CODECS[database][0])
        self.is_plain = columns.is_plain
        self.has_filter = database not in ("mysql", "mariadb")
        self.has_any = database != "sqlite"
        self.has_char_length = database != "sqlite"
        self.has_regexp_replace = database != "sqlite"
        self.has_concat = database != "sqlite"
        self.collation = {"sqlite": "NOCASE", "postgresql": "C"}.get(database, "utf8mb4_bin")


#: The rows of the table in docs/querying.md, with what stands behind each.
DOCUMENTED = {
    "`==`, `!=`, `<`, `<=`, `>`, `>=`, `is_distinct_from()`": [
        "==",
        "!=",
        "<",
        "<=",
        ">",
        ">=",
        "is_distinct_from",
        "is_not_distinct_from",
        "is_distinct_from column",
        "bindparam",
        "and_ or_ not_",
        "column == column",
        "column < column",
    ],
    "`like()`, `ilike()`, `startswith()`, `endswith()`, `contains()`": [
        "like",
        "like with escape",
        "not_like",
        "ilike",
        "not_ilike",
        "startswith",
        "endswith",
        "contains",
        "icontains",
    ],
    "`in_()`, `between()`, of values, of columns, of tuples": [
        "in_",
        "in_ nothing",
        "not_in",
        "between",
        "not between",
        "column in columns",
        "plain in list",
        "plain between",
        "tuple in",
        "tuple in select",
    ],
    "`regexp_match()`, `regexp_replace()`, `op()`, `bool_op()`, `collate()`": [
        "regexp_match",
        "regexp_replace",
        "op",
        "bool_op",
        "collate",
    ],
    "`IS NULL`, `IS NOT NULL`, `== None`": [
        "is_(None)",
        "== None",
        "is_not(None)",
        "is_distinct_from(None)",
        "path is null",
    ],
    "the column on the right: `plain == column`, `literal == column`": [
        "plain == column",
        "plain != column",
        "plain < column",
        "plain like column",
        "literal == column",
        "typed literal",
        "plain == typed literal",
    ],
    "`+`, `concat()`, on either side": [
        "+",
        "+ column",
        "concat",
        "function + column",
        "function + column compared",
        "function + column sorted",
        "untyped + column",
        "from the right",
        "plain + column",
        "+ compared",
        "+ in a function",
        "concat function",
    ],
    "functions: `func.lower(column)` and any other": [
        "lower",
        "upper",
        "length",
        "substr",
        "replace",
        "trim",
        "nested functions",
        "nullif",
    ],
    "`coalesce()`, `max()`, `min()` and other functions of its type; `FILTER`": [
        "function of two",
        "coalesce with a value",
        "coalesce of plain first",
        "coalesce compared",
        "label compared",
        "coalesce of coalesce",
        "coalesce of coalesce selected",
        "coalesce of max",
        "max label compared",
        "coalesce of a scalar subquery",
        "max of coalesce over",
        "max",
        "min",
        "max in groups",
        "max filtered",
        "having",
        "aggregate_strings",
    ],
    "`count()`, `count(distinct())`": ["count", "count distinct", "count(distinct())"],
    "`cast()`, `type_coerce()`": ["cast", "cast compared", "type_coerce", "type_coerce compared"],
    "`case()`": [
        "case on the value",
        "case on a condition",
        "case giving it",
        "case giving it or NULL",
        "case giving it or a value",
        "case giving a value or it",
        "case giving it or plain",
        "case compared",
        "case of max",
        "case of case",
    ],
    "ORDER BY, also by a label or a name": [
        "order_by",
        "order_by desc",
        "order_by desc()",
        "order_by label",
        "order_by label object",
        "order_by label desc",
        "order_by name",
        "order_by desc name",
        "order_by function",
        "order_by in a subquery",
        "limit and offset",
    ],
    "OVER: ORDER BY, PARTITION BY, `first_value()`": [
        "row_number over",
        "over name",
        "partition by",
        "first_value over",
        "max over",
    ],
    "aliases, subqueries, CTEs, recursive ones too, joins": [
        "alias",
        "subquery",
        "cte",
        "recursive cte",
        "computed in a subquery",
        "join on",
        "self join",
        "lateral or correlated",
    ],
    "IN, EXISTS, ANY, ALL of a subquery; a scalar subquery": [
        "in select",
        "column in select",
        "column in select of it",
        "not in select",
        "in union",
        "in union of it",
        "scalar subquery",
        "== scalar subquery",
        "column == scalar subquery",
        "function of a scalar subquery",
        "exists",
        "exists of it",
        "any",
        "column any",
        "column all",
    ],
    "columns of a SELECT; UNION ALL of compressed columns, or with NULL": [
        "select",
        "union_all",
        "union with NULL",
        "document",
        "document in case",
    ],
    "JSON paths: `[…]`, `as_string()`, `as_integer()` and their kin": [
        "path of a string",
        "path of an integer",
        "path of a float",
        "path in a path",
        "path after path",
        "path into a list",
        "path in_",
        "path like",
        "path ordered",
        "path selected",
    ],
    "RETURNING": ["returning"],
    "`column_property`, hybrids, the session": ["column properties, hybrids"],
    "UPDATE and DELETE with conditions": ["update with a value", "delete"],
    "UPDATE with `column + …`, another compressed column, `coalesce()`, `case()`, a function with `type_=`": [
        "update with a concatenation",
        "update with another column",
        "update with coalesce",
        "update with case",
        "update with a function of its type",
        "update with a subquery",
    ],
    "INSERT … SELECT of a compressed column into one; upserts": [
        "insert from select of it",
        "insert from select of a value",
        "upserts",
    ],
    "UPDATE or INSERT … SELECT of `decompressed(column)` into a plain column": [
        "update plain with the plain value",
    ],
    "GROUP BY, DISTINCT, UNION": ["group_by", "distinct", "union"],
    "UNION, INTERSECT, EXCEPT with a plain column; ORDER BY of a UNION by it": [
        "union with plain",
        "union with plain first",
        "union with a value",
        "except plain",
        "union sorted",
    ],
    "a whole JSON document compared, sorted, counted distinct, computed": [
        "document == document",
        "document == value",
        "document in",
        "order_by document",
        "order_by document desc",
        "document distinct",
        "value == document",
        "value in documents",
        "value == one document",
        "document in documents",
        "value any of documents",
        "max of a document",
        "case mixing documents",
        "document + text",
    ],
    "`cast()` to a compressed type; `array_agg()`": ["cast to it", "array of it"],
    "UPDATE or INSERT … SELECT between a compressed and a plain column": [
        "update plain",
        "update compressed",
        "update from another kind",
        "update with a function",
        "update plain with a typed value",
        "insert from select",
        "insert from plain select",
        "insert many values",
    ],
    "one parameter for a stored and a compared value": ["one name, two ways"],
}
