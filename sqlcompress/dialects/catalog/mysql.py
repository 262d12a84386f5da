"""MySQL and MariaDB: information_schema."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from sqlcompress.dialects.catalog.base import Catalog, FoundKey, no_column, no_table
from sqlcompress.dialects.catalog.words import mentions
from sqlcompress.dialects.tables import Column, Key, KeyColumn, Kind, TableName
from sqlcompress.errors import MigrationBlockedError

if TYPE_CHECKING:
    from collections.abc import Iterator

_KINDS: dict[str, Kind] = {
    "tinytext": "text",
    "text": "text",
    "mediumtext": "text",
    "longtext": "text",
    "varchar": "text",
    "char": "text",
    "json": "json",
    "tinyblob": "binary",
    "blob": "binary",
    "mediumblob": "binary",
    "longblob": "binary",
    "varbinary": "binary",
}
# Measured: an endless or repeated walk. ENUM orders by number and compares as text; FLOAT and DOUBLE do not
# compare equal to what is printed; BIT comes back as bytes.
_UNUSABLE_KEYS = frozenset({"enum", "set", "float", "double", "real", "bit", "json", "geometry", "vector"})


class MySQLCatalog(Catalog):
    """One MySQL server; the labels are named, since it returns them in upper case."""

    #: True for an index part that the planner may use and that is a whole column.
    _usable_part: ClassVar[str] = "s.sub_part IS NULL AND s.is_visible = 'YES' AND s.expression IS NULL"

    def table(self, name: str, schema: str | None) -> TableName:
        found = self.query(
            "SELECT t.table_schema AS s, t.table_name AS t, t.table_type AS k, e.transactions AS x,"
            " t.engine AS e FROM information_schema.tables t"
            " LEFT JOIN information_schema.engines e ON e.engine = t.engine"
            " WHERE t.table_name = ? AND t.table_schema = coalesce(?, database())",
            name,
            schema,
        )
        if not found:
            raise no_table(name, schema)
        in_schema, in_table, kind, transactions, engine = found[0]
        if kind == "VIEW":
            sentence = f"{name} is a view, not a table"
            raise MigrationBlockedError(sentence, (sentence,))
        if transactions != "YES":
            sentence = (
                f"the table {name} is kept by {engine}, which has no transactions, so that a row changed "
                "meanwhile could be lost; change it to InnoDB first"
            )
            raise MigrationBlockedError(sentence, (sentence,))
        return TableName(in_table, in_schema)

    def column(self, table: TableName, name: str) -> Column:
        found = self.query(
            "SELECT column_name AS n, data_type AS d, column_type AS t, is_nullable AS u,"
            " column_default AS f, column_comment AS c, character_set_name AS s, collation_name AS o,"
            " extra AS e FROM information_schema.columns"
            " WHERE table_schema = ? AND table_name = ? AND column_name = ?",
            table.schema,
            table.name,
            name,
        )
        if not found:
            raise no_column(table, name)
        found_name, data_type, type_sql, nullable, default, comment, charset, collation, extra = found[0]
        return Column(
            found_name,
            # MySQL says DEFAULT_GENERATED of a column whose default is an expression.
            "other" if " GENERATED" in extra.upper() else _KINDS.get(data_type.lower(), "other"),
            _text(type_sql),
            nullable=nullable == "YES",
            default=None if default is None or _text(default) == "NULL" else _text(default),
            comment=comment or None,
            charset=charset,
            collation=collation,
            invisible="INVISIBLE" in extra.upper(),
        )

    def keys(self, table: TableName) -> list[FoundKey]:
        rows = self.query(
            "SELECT s.index_name AS i, s.column_name AS n, c.data_type AS t,"
            f" (s.nullable <> 'YES' AND {self._usable_part}) AS ok"
            " FROM information_schema.statistics s LEFT JOIN information_schema.columns c"
            " ON c.table_schema = s.table_schema AND c.table_name = s.table_name"
            " AND c.column_name = s.column_name"
            " WHERE s.table_schema = ? AND s.table_name = ? AND s.non_unique = 0"
            " ORDER BY s.index_name = 'PRIMARY' DESC, s.index_name, s.seq_in_index",
            table.schema,
            table.name,
        )
        indexes: dict[str, list[tuple[str, str, bool]]] = {}
        for index, name, type_sql, usable in rows:
            indexes.setdefault(index, []).append((name, type_sql, bool(usable)))
        found = [
            FoundKey(
                Key(tuple(KeyColumn(name) for name, _, _ in parts), None if index == "PRIMARY" else index),
                tuple(type_sql for _, type_sql, _ in parts),
            )
            for index, parts in indexes.items()
            if all(usable for _, _, usable in parts)
        ]
        return sorted(found, key=lambda key: (key.key.index is not None, len(key.key.columns)))

    def key_trouble(self, key: FoundKey, column: Column) -> str | None:
        for part, type_sql in zip(key.key.columns, key.types, strict=True):
            if type_sql.lower() in _UNUSABLE_KEYS:
                shown = type_sql.upper()
                return f"its key column {part.name} is {shown}, which does not compare as it is ordered"
        return super().key_trouble(key, column)

    def blockers(self, table: TableName, column: Column, *, compress: bool) -> list[str]:
        found: list[str] = []
        name = column.name
        if column.kind == "other":
            generated = self.query(
                "SELECT 1 AS n FROM information_schema.columns WHERE table_schema = ? AND table_name = ?"
                " AND column_name = ? AND extra LIKE '%% GENERATED%%'".replace("%%", self._percent),
                table.schema,
                table.name,
                name,
            )
            if generated:
                found.append(f"the column {name} is generated; store it as an ordinary column first")
        if compress:
            found += self._own(table, column)
        elif column.default is not None:
            found.append(f"the column {name} has a default, which the type change would drop; drop it first")
        for part in (self._indexes, self._keys, self._checks, self._generated, self._code, self._storage):
            found += part(table, column)
        return list(dict.fromkeys(found))

    @property
    def _percent(self) -> str:
        return "%" if self.dialect.paramstyle == "qmark" else "%%"

    def _own(self, table: TableName, column: Column) -> Iterator[str]:
        name = column.name
        if column.type_sql.lower().startswith("char("):
            yield (
                f"the column {name} is {column.type_sql}, whose padding blanks would be lost; "
                "change it to VARCHAR or TEXT first"
            )
        if column.default is not None:
            yield (
                f"the column {name} has a default, and LONGBLOB takes none; "
                "drop the default and let the application set it"
            )
        if column.kind == "text":
            (default,) = self.query(
                "SELECT table_collation AS c FROM information_schema.tables"
                " WHERE table_schema = ? AND table_name = ?",
                table.schema,
                table.name,
            )[0]
            json = any(self._json_checks(table, column))
            same_charset = (default or "").split("_")[0] == (column.collation or "").split("_")[0]
            if same_charset and column.collation != default and not json:
                yield (
                    f"the column {name} has the collation {column.collation} and the table {default}; bytes "
                    f"follow neither: change the column to {default} first"
                )

    def _json_checks(self, table: TableName, column: Column) -> Iterator[str]:
        """The checks that MariaDB makes for a column declared JSON."""
        del table, column
        yield from ()

    def _indexes(self, table: TableName, column: Column) -> Iterator[str]:
        for (index,) in self.query(
            "SELECT DISTINCT index_name AS i FROM information_schema.statistics"
            " WHERE table_schema = ? AND table_name = ? AND column_name = ?",
            table.schema,
            table.name,
            column.name,
        ):
            yield f"the index {index} uses {column.name} and would order compressed bytes; drop it first"
        yield from self._expressions(table, column)

    def _expressions(self, table: TableName, column: Column) -> Iterator[str]:
        for index, expression in self.query(
            "SELECT index_name AS i, expression AS e FROM information_schema.statistics"
            " WHERE table_schema = ? AND table_name = ? AND expression IS NOT NULL",
            table.schema,
            table.name,
        ):
            if mentions(_text(expression), column.name):
                yield f"the index {index} is over an expression of {column.name}; drop it first"

    def _keys(self, table: TableName, column: Column) -> Iterator[str]:
        for constraint, owner, target in self.query(
            "SELECT constraint_name AS c, table_name AS t, referenced_table_name AS r"
            " FROM information_schema.key_column_usage WHERE referenced_table_name IS NOT NULL AND"
            " ((table_schema = ? AND table_name = ? AND column_name = ?) OR (referenced_table_schema = ?"
            " AND referenced_table_name = ? AND referenced_column_name = ?))",
            *(table.schema, table.name, column.name) * 2,
        ):
            yield f"the foreign key {constraint} from {owner} to {target} uses {column.name}; drop it first"

    def _checks(self, table: TableName, column: Column) -> Iterator[str]:
        for name, clause in self.query(
            "SELECT c.constraint_name AS n, c.check_clause AS k FROM information_schema.check_constraints c"
            " JOIN information_schema.table_constraints t ON t.constraint_schema = c.constraint_schema"
            " AND t.constraint_name = c.constraint_name WHERE t.table_schema = ? AND t.table_name = ?"
            " AND t.constraint_type = 'CHECK'",
            table.schema,
            table.name,
        ):
            if mentions(_text(clause), column.name):
                yield f"the CHECK constraint {name} uses {column.name}; drop it first"

    def _generated(self, table: TableName, column: Column) -> Iterator[str]:
        for name, expression in self.query(
            "SELECT column_name AS n, generation_expression AS g FROM information_schema.columns"
            " WHERE table_schema = ? AND table_name = ? AND generation_expression <> ''",
            table.schema,
            table.name,
        ):
            if name != column.name and mentions(_text(expression), column.name):
                yield f"the generated column {name} is made from {column.name}; drop it first"

    def _code(self, table: TableName, column: Column) -> Iterator[str]:
        for name, event, body in self.query(
            "SELECT trigger_name AS n, event_manipulation AS e, action_statement AS a"
            " FROM information_schema.triggers WHERE event_object_schema = ? AND event_object_table = ?",
            table.schema,
            table.name,
        ):
            if event == "UPDATE":
                yield f"the trigger {name} fires for each rewritten row; drop it first"
            elif self.mentions(_text(body), column.name):
                yield f"the trigger {name} uses {column.name}; drop it first, or have it leave it out"
        for schema, name, definition in self.query(
            "SELECT table_schema AS s, table_name AS n, view_definition AS d FROM information_schema.views"
        ):
            if mentions(_text(definition), str(table.schema), table.name, column.name):
                yield (
                    f"the view {schema}.{name} reads {column.name} and would show compressed bytes; "
                    "drop it first"
                )

    def _storage(self, table: TableName, column: Column) -> Iterator[str]:
        for expression, sub in self.query(
            "SELECT DISTINCT partition_expression AS p, subpartition_expression AS q"
            " FROM information_schema.partitions WHERE table_schema = ? AND table_name = ?",
            table.schema,
            table.name,
        ):
            if mentions(_text(expression), column.name) or mentions(_text(sub), column.name):
                yield f"the table is partitioned by {column.name}; partition it by another column first"


class MariaDBCatalog(MySQLCatalog):
    """MariaDB: JSON is LONGTEXT with a check, tables may be versioned, indexes may be ignored."""

    _usable_part: ClassVar[str] = "s.sub_part IS NULL AND s.ignored = 'NO'"

    def column(self, table: TableName, name: str) -> Column:
        column = super().column(table, name)
        if column.kind == "text" and any(self._json_checks(table, column)):
            return Column(**{**column.__dict__, "kind": "json"})
        return column

    def _json_checks(self, table: TableName, column: Column) -> Iterator[str]:
        for name, clause in self.query(
            "SELECT constraint_name AS n, check_clause AS k FROM information_schema.check_constraints"
            " WHERE constraint_schema = ? AND table_name = ? AND level = 'Column'",
            table.schema,
            table.name,
        ):
            quoted = column.name.replace("`", "``")
            if name == column.name and _text(clause).lower() == f"json_valid(`{quoted}`)".lower():
                yield name

    def _expressions(self, table: TableName, column: Column) -> Iterator[str]:
        del table, column
        yield from ()

    def _checks(self, table: TableName, column: Column) -> Iterator[str]:
        implied = set(self._json_checks(table, column))
        for name, level, clause in self.query(
            "SELECT constraint_name AS n, level AS l, check_clause AS k"
            " FROM information_schema.check_constraints WHERE constraint_schema = ? AND table_name = ?",
            table.schema,
            table.name,
        ):
            if mentions(_text(clause), column.name) and not (level == "Column" and name in implied):
                yield f"the CHECK constraint {name} uses {column.name}; drop it first"

    def _storage(self, table: TableName, column: Column) -> Iterator[str]:
        yield from super()._storage(table, column)
        (kind,) = self.query(
            "SELECT table_type AS k FROM information_schema.tables WHERE table_schema = ? AND table_name = ?",
            table.schema,
            table.name,
        )[0]
        if kind == "SYSTEM VERSIONED":
            yield (
                f"the table {table.name} is system versioned: every rewritten row would be kept twice; "
                "drop the versioning first"
            )


def _text(value: object) -> str:
    """Text from a catalog; some drivers give some of its columns as bytes."""
    return bytes(value).decode() if isinstance(value, (bytes, bytearray, memoryview)) else str(value or "")
