"""SQLite: pragmas, and the SQL text it keeps for everything else."""

from __future__ import annotations

from typing import Any

from sqlcompress.dialects.catalog.base import Catalog, FoundKey, no_column, no_table
from sqlcompress.dialects.catalog.words import groups_after, tokens
from sqlcompress.dialects.tables import Column, Key, KeyColumn, Kind, TableName
from sqlcompress.errors import MigrationBlockedError

_ROWID_NAMES = ("rowid", "_rowid_", "oid")


class SQLiteCatalog(Catalog):
    """One database file."""

    def _pragma(self, table: TableName, pragma: str, argument: str | None = None) -> list[tuple[Any, ...]]:
        quote = self.dialect.identifier_preparer.quote_identifier
        schema = quote(table.schema or "main")
        return self.query(f"PRAGMA {schema}.{pragma}({quote(argument or table.name)})")

    def _objects(self, table: TableName) -> list[tuple[Any, ...]]:
        quote = self.dialect.identifier_preparer.quote_identifier
        schema = quote(table.schema or "main")
        return self.query(f"SELECT type, name, tbl_name, coalesce(sql, '') FROM {schema}.sqlite_master")

    def table(self, name: str, schema: str | None) -> TableName:
        wanted = TableName(name, schema)
        for kind, found, _, sql in self._objects(wanted):
            if found.casefold() == name.casefold() and kind in {"table", "view"}:
                words = [word.casefold() for word, _ in tokens(sql)][:3]
                if kind == "view" or words[1:2] == ["virtual"]:
                    sentence = f"{wanted} is a {'view' if kind == 'view' else 'virtual table'}, not a table"
                    raise MigrationBlockedError(sentence, (sentence,))
                return TableName(found, schema)
        raise no_table(name, schema)

    def column(self, table: TableName, name: str) -> Column:
        for _, found, type_sql, notnull, default, pk, hidden in self._pragma(table, "table_xinfo"):
            if found.casefold() == name.casefold():
                return Column(
                    found,
                    "other" if hidden else _kind(type_sql),
                    type_sql,
                    nullable=not notnull and not pk,
                    default=default,
                )
        raise no_column(table, name)

    def keys(self, table: TableName) -> list[FoundKey]:
        columns = list(self._pragma(table, "table_xinfo"))
        found = []
        if not self._without_rowid(table):
            taken = {column[1].casefold() for column in columns}
            free = [name for name in _ROWID_NAMES if name not in taken]
            if free:
                # Even beside a primary key: one of TEXT may hold NULLs, and INTEGER PRIMARY KEY is the rowid.
                key = Key((KeyColumn(free[0], raw=True),))
                is_column = [row[2].upper() for row in columns if row[5]] == ["INTEGER"]
                found.append(FoundKey(key, ("INTEGER",), is_lasting=is_column))
        primary = sorted((column[5], column[1], column[2], column[3]) for column in columns if column[5])
        if primary and (self._without_rowid(table) or all(notnull for *_, notnull in primary)):
            key = Key(tuple(KeyColumn(name) for _, name, _, _ in primary))
            found.append(FoundKey(key, tuple(type_sql for _, _, type_sql, _ in primary)))
        return found

    def table_bytes(self, table: TableName) -> int:
        """The whole file: SQLite keeps no count by table."""
        (pages,), (size,) = self.query("PRAGMA page_count")[0], self.query("PRAGMA page_size")[0]
        return int(pages) * int(size)

    def blockers(
        self, table: TableName, column: Column, *, compress: bool, collation: str | None = None
    ) -> list[str]:
        del collation
        del compress  # the declared type never changes, so both directions meet the same things
        name = column.name
        found: list[str] = []
        for _, other, _, _, _, _, hidden in self._pragma(table, "table_xinfo"):
            if hidden in {2, 3} and other == name:
                found.append(f"the column {name} is generated; store it as an ordinary column first")
        if self._strict(table) and column.type_sql.upper() not in {"BLOB", "ANY"}:
            found.append(
                f"the table {table.name} is STRICT and takes no bytes in a {column.type_sql} column; "
                "rebuild it without STRICT, or with the column as BLOB"
            )
        found += self._indexes(table, name)
        found += self._foreign_keys(table, name)
        for kind, other, owner, sql in self._objects(table):
            found += self._object(table, name, kind, other, owner, sql)
        return found

    def _indexes(self, table: TableName, name: str) -> list[str]:
        found = []
        by_name = {other: sql for kind, other, _, sql in self._objects(table) if kind == "index"}
        for _, index, _, origin, _ in (row[:5] for row in self._pragma(table, "index_list")):
            columns = {row[2] for row in self._pragma(table, "index_xinfo", index) if row[5]}
            if name in columns or self.mentions(self.uses(by_name.get(index), name), name):
                what = {"pk": "primary key", "u": "unique constraint"}.get(origin, "index")
                found.append(
                    f"the {what} {index} uses {name} and would order compressed bytes; drop it first"
                )
        return found

    def _foreign_keys(self, table: TableName, name: str) -> list[str]:
        found = []
        tables = [(other, sql) for kind, other, _, sql in self._objects(table) if kind == "table"]
        for other, sql in tables:
            if [word.casefold() for word, _ in tokens(sql)][1:2] == ["virtual"]:
                continue
            for row in self._pragma(table, "foreign_key_list", other):
                _, _, target, source_column, target_column = row[:5]
                if other == table.name and source_column.casefold() == name.casefold():
                    found.append(f"a foreign key from {name} to {target}; drop it first")
                same = target.casefold() == table.name.casefold()
                if same and (target_column or "").casefold() == name.casefold():
                    found.append(f"a foreign key from {other} to {name}; drop it first")
        return found

    def _object(  # noqa: C901 - one line for each kind of object
        self, table: TableName, name: str, kind: str, other: str, owner: str, sql: str
    ) -> list[str]:
        found = []
        rest = self.uses(sql, name)
        if kind == "table" and other == table.name:
            if any(name.casefold() in names for names in groups_after(rest, "CHECK")):
                found.append(f"a CHECK constraint of {table.name} uses {name}; rebuild the table without it")
            if any(name.casefold() in names for names in groups_after(rest, "AS")):
                found.append(f"a generated column of {table.name} is made from {name}; drop it first")
            if _has_collation(sql, name):
                found.append(
                    f"the column {name} has a collation of its own, which bytes do not follow; "
                    "rebuild the table without it"
                )
        elif kind == "table" and _is_full_text(sql) and self.mentions(sql.replace("'", '"'), table.name):
            found.append(f"the full-text table {other} reads {table.name}; drop it first")
        elif kind == "trigger" and owner.casefold() == table.name.casefold():
            if _fires_on_update(sql, name):
                found.append(
                    f"the trigger {other} fires for each rewritten row; drop it first, "
                    "or let it be UPDATE OF other columns"
                )
            elif self.mentions(rest, name):
                found.append(f"the trigger {other} uses {name}; drop it first, or have it leave {name} out")
        elif kind == "trigger" and self.mentions(rest, table.name, name):
            found.append(f"the trigger {other} uses {table.name}.{name}; drop it first")
        elif kind == "view" and self.mentions(sql, table.name) and (self.mentions(rest, name) or "*" in sql):
            found.append(f"the view {other} reads {name} and would show compressed bytes; drop it first")
        return found

    def _table_list(self, table: TableName) -> tuple[bool, bool]:
        """Whether the table is WITHOUT ROWID and whether it is STRICT."""
        for row in self._pragma(table, "table_list"):
            if len(row) >= 6 and row[0] == (table.schema or "main"):
                return bool(row[4]), bool(row[5])
        # SQLite before 3.37 has neither the pragma nor STRICT.
        sql = next(
            sql for kind, name, _, sql in self._objects(table) if name == table.name and kind == "table"
        )
        words = [word.casefold() for word, quoted in tokens(sql) if not quoted]
        return words[-2:] == ["without", "rowid"], False

    def _without_rowid(self, table: TableName) -> bool:
        return self._table_list(table)[0]

    def _strict(self, table: TableName) -> bool:
        return self._table_list(table)[1]


def _kind(type_sql: str) -> Kind:
    """What the application keeps in a column of this declared type; nothing holds SQLite itself to it."""
    upper = type_sql.upper()
    if "JSON" in upper:
        return "json"
    if any(word in upper for word in ("CHAR", "CLOB", "TEXT")):
        return "text"
    if not upper or any(word in upper for word in ("BLOB", "BINARY", "BYTEA")):
        return "binary"
    return "other"


def _is_full_text(sql: str) -> bool:
    words = [word.casefold() for word, _ in tokens(sql)]
    return words[1:2] == ["virtual"] and any(word.startswith("fts") for word in words)


def _fires_on_update(sql: str, column: str) -> bool:
    """Whether a trigger of the table fires when ``column`` is updated."""
    words = [word.casefold() for word, _ in tokens(sql)]
    head = words[: words.index("begin")] if "begin" in words else words
    if "update" not in head:
        return False
    after = head[head.index("update") + 1 :]
    if after[:1] != ["of"]:
        return True
    return column.casefold() in after[1 : after.index("on")]


def _has_collation(sql: str, column: str) -> bool:
    """Whether the definition of ``column`` in CREATE TABLE names a collation other than BINARY."""
    depth, first, inside, collate = 0, False, False, False
    for piece, quoted in tokens(sql):
        word = piece.casefold()
        if collate:
            return word != "binary"
        if not quoted and piece == "(":
            depth += 1
            first = depth == 1
        elif not quoted and piece == ")":
            depth -= 1
        elif not quoted and piece == "," and depth == 1:
            first, inside = True, False
        elif first:
            first, inside = False, word == column.casefold()
        elif inside and not quoted and word == "collate":
            collate = True
    return False
