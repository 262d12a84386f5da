"""MySQL: information_schema."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from sqlcompress.dialects.carry import MySQLDefault
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
_JOB = "sqlcompress_job"
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
            text_of(type_sql),
            nullable=nullable == "YES",
            default=None if default is None else self._default(text_of(default), extra),
            comment=comment or None,
            charset=charset,
            collation=collation,
            invisible="INVISIBLE" in extra.upper(),
        )

    def _default(self, printed: str, extra: str) -> str | None:
        """The default as SQL: of a literal MySQL gives the text as it is."""
        if "DEFAULT_GENERATED" in extra.upper():
            return f"({printed})"
        return "'" + printed.replace("'", "''") + "'"

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

    def blockers(
        self, table: TableName, column: Column, *, compress: bool, collation: str | None = None
    ) -> list[str]:
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
            found += self._own(table, column, collation)
        if not MySQLDefault(column, self.dialect).is_carried:
            found.append(
                f"the default of {name} is no constant that could be brought back exactly; "
                "drop the default and let the application set it"
            )
        for part in (self._indexes, self._keys, self._checks, self._generated, self._code, self._storage):
            found += part(table, column)
        return list(dict.fromkeys(found))

    @property
    def _percent(self) -> str:
        return "%" if self.dialect.paramstyle == "qmark" else "%%"

    def _own(self, table: TableName, column: Column, collation: str | None) -> Iterator[str]:
        name = column.name
        if column.type_sql.lower().startswith("char("):
            yield (
                f"the column {name} is {column.type_sql}, whose padding blanks would be lost; "
                "change it to VARCHAR or TEXT first"
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
            kept = collation is not None and collation == column.collation
            if same_charset and column.collation != default and not json and not kept:
                yield (
                    f"the column {name} has the collation {column.collation} and the table {default}, so "
                    "that the way back would not find it; name it by existing_type=sa.Text(collation="
                    f'"{column.collation}") here and by type_= there, or change the column to {default}'
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
            if mentions(self.uses(text_of(expression), column.name), column.name):
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
            if mentions(self.uses(text_of(clause), column.name), column.name):
                yield f"the CHECK constraint {name} uses {column.name}; drop it first"

    def _generated(self, table: TableName, column: Column) -> Iterator[str]:
        for name, expression in self.query(
            "SELECT column_name AS n, generation_expression AS g FROM information_schema.columns"
            " WHERE table_schema = ? AND table_name = ? AND generation_expression <> ''",
            table.schema,
            table.name,
        ):
            if name != column.name and mentions(text_of(expression), column.name):
                yield f"the generated column {name} is made from {column.name}; drop it first"

    def _code(self, table: TableName, column: Column) -> Iterator[str]:
        for name, event, action in self.query(
            "SELECT trigger_name AS n, event_manipulation AS e, action_statement AS a"
            " FROM information_schema.triggers WHERE event_object_schema = ? AND event_object_table = ?",
            table.schema,
            table.name,
        ):
            body = text_of(action)
            if event == "UPDATE" and not mentions(body, _JOB, quoted=()):
                yield (
                    f"the trigger {name} fires for each rewritten row; drop it first, or let its body ask "
                    "IF NOT (@sqlcompress_job <=> '1') THEN, which the job sets in its sessions"
                )
            elif self.mentions(self.uses(body, column.name), column.name):
                yield f"the trigger {name} uses {column.name}; drop it first, or have it leave it out"
        for schema, name, definition in self.query(
            "SELECT table_schema AS s, table_name AS n, view_definition AS d FROM information_schema.views"
        ):
            if mentions(text_of(definition), str(table.schema), table.name, column.name):
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
            if mentions(text_of(expression), column.name) or mentions(text_of(sub), column.name):
                yield f"the table is partitioned by {column.name}; partition it by another column first"

    def grants_for(self, table: TableName, column: str, new_name: str) -> list[str]:
        quote = self.dialect.identifier_preparer.quote_identifier
        return [
            f"GRANT {privilege} ({quote(new_name)}) ON {table.quoted(self.dialect)} TO {text_of(grantee)}"
            + (" WITH GRANT OPTION" if grantable == "YES" else "")
            for privilege, grantable, grantee in self.query(
                "SELECT privilege_type AS p, is_grantable AS g, grantee AS e"
                " FROM information_schema.column_privileges WHERE table_schema = ? AND table_name = ?"
                " AND column_name = ? ORDER BY grantee, privilege_type",
                table.schema,
                table.name,
                column,
            )
        ]

    def carried(self, table: TableName, column: Column) -> list[str]:
        found = super().carried(table, column)
        if self.grants_for(table, column.name, column.name):
            found.append("column privileges")
        siblings = self.query(
            "SELECT column_name AS n FROM information_schema.columns WHERE table_schema = ?"
            f" AND table_name = ? AND extra LIKE '{self._percent}on update{self._percent}'",
            table.schema,
            table.name,
        )
        return found + [f"{name} ON UPDATE CURRENT_TIMESTAMP stands still" for (name,) in siblings]

    def table_bytes(self, table: TableName) -> int:
        found = self.query(
            "SELECT coalesce(data_length, 0) + coalesce(index_length, 0) AS n FROM information_schema.tables"
            " WHERE table_schema = ? AND table_name = ?",
            table.schema,
            table.name,
        )
        return int(found[0][0]) if found else 0


def text_of(value: object) -> str:
    """Text from a catalog; some drivers give some of its columns as bytes."""
    return bytes(value).decode() if isinstance(value, (bytes, bytearray, memoryview)) else str(value or "")
