"""PostgreSQL: pg_depend, and what it does not know."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from sqlcompress.dialects.catalog.base import Catalog, FoundKey, no_column, no_table
from sqlcompress.dialects.tables import Column, Key, KeyColumn, Kind, TableName
from sqlcompress.errors import MigrationBlockedError

if TYPE_CHECKING:
    from collections.abc import Iterator

_KINDS: dict[str, Kind] = {
    "text": "text",
    "varchar": "text",
    "bpchar": "text",
    "json": "json",
    "jsonb": "json",
    "bytea": "binary",
}
# Bound as they are; every other type goes through its text form, which the server reads back exactly.
_NATIVE_KEYS = frozenset({"smallint", "integer", "bigint"})


class PostgreSQLCatalog(Catalog):
    """One database, in the schema the table was found in."""

    def table(self, name: str, schema: str | None) -> TableName:
        found = self.query(
            "SELECT n.nspname, c.relkind::text, c.oid::bigint FROM pg_class c"
            " JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.relname = ?::text"
            " AND (CASE WHEN ?::text IS NULL THEN pg_table_is_visible(c.oid) ELSE n.nspname = ?::text END)",
            name,
            schema,
            schema,
        )
        if not found:
            raise no_table(name, schema)
        if found[0][1] not in {"r", "p"}:
            sentence = f"{name} is a view, a foreign table or the like, not a table"
            raise MigrationBlockedError(sentence, (sentence,))
        return TableName(name, found[0][0])

    def _oid(self, table: TableName) -> int:
        return int(
            self.query(
                "SELECT c.oid::bigint FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace"
                " WHERE c.relname = ?::text AND n.nspname = ?::text",
                table.name,
                table.schema,
            )[0][0]
        )

    def column(self, table: TableName, name: str) -> Column:
        found = self.query(
            "SELECT t.typname::text, t.typtype::text, format_type(a.atttypid, a.atttypmod), a.attnotnull,"
            " pg_get_expr(d.adbin, d.adrelid), col_description(a.attrelid, a.attnum),"
            " CASE WHEN a.attcollation <> t.typcollation THEN l.collname::text END"
            " FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid"
            " LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum"
            " LEFT JOIN pg_collation l ON l.oid = a.attcollation"
            " WHERE a.attrelid = ?::bigint AND a.attname = ?::text AND a.attnum > 0 AND NOT a.attisdropped",
            self._oid(table),
            name,
        )
        if not found:
            raise no_column(table, name)
        typname, typtype, type_sql, notnull, default, comment, collation = found[0]
        kind: Kind = _KINDS.get(typname, "other") if typtype == "b" else "other"
        return Column(
            name,
            kind,
            type_sql,
            nullable=not notnull,
            default=default,
            comment=comment,
            collation=collation,
        )

    def keys(self, table: TableName) -> list[FoundKey]:
        rows = self.query(
            "SELECT i.indexrelid::bigint, a.attname::text, format_type(a.atttypid, a.atttypmod), a.attnotnull"
            " FROM pg_index i CROSS JOIN LATERAL unnest(i.indkey) WITH ORDINALITY AS k (attnum, n)"
            " LEFT JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.attnum"
            " WHERE i.indrelid = ?::bigint AND i.indisunique AND i.indisvalid AND i.indimmediate"
            " AND i.indpred IS NULL AND i.indexprs IS NULL AND k.n <= i.indnkeyatts"
            " ORDER BY i.indisprimary DESC, i.indnkeyatts, i.indexrelid, k.n",
            self._oid(table),
        )
        indexes: dict[int, list[tuple[str, str, bool]]] = {}
        for index, name, type_sql, notnull in rows:
            indexes.setdefault(index, []).append((name, type_sql, notnull))
        return [
            FoundKey(
                Key(tuple(KeyColumn(n, cast=t, as_text=t not in _NATIVE_KEYS) for n, t, _ in parts)),
                tuple(t for _, t, _ in parts),
            )
            for parts in indexes.values()
            if all(notnull for _, _, notnull in parts)
        ]

    def blockers(self, table: TableName, column: Column, *, compress: bool) -> list[str]:
        oid = self._oid(table)
        found: list[str] = []
        if compress:
            if column.type_sql.startswith("character("):
                found.append(
                    f"the column {column.name} is {column.type_sql}, whose padding blanks would be lost; "
                    "change it to TEXT or VARCHAR first"
                )
            if column.collation is not None:
                found.append(
                    f"the column {column.name} has the collation {column.collation}, which bytes do not "
                    "follow; change it to the default collation first"
                )
        for part in (self._hidden, self._depending, self._firing, self._inherited, self._replicated):
            found += part(table, oid, column)
        return list(dict.fromkeys(found))

    def _hidden(self, table: TableName, oid: int, column: Column) -> Iterator[str]:
        del column
        if self.query("SELECT row_security_active(?::oid)", oid) == [(True,)]:
            yield (
                f"row-level security may hide rows of {table} from the user of this connection; run the "
                "migration as a superuser or a role with BYPASSRLS, or as the owner without FORCE ROW LEVEL "
                "SECURITY"
            )

    #: Kinds of objects in pg_depend that go through a type change unharmed.
    _harmless: ClassVar[str] = (
        # PostgreSQL 18 keeps NOT NULL as a constraint; the type change keeps it.
        "NOT EXISTS (SELECT 1 FROM pg_constraint n WHERE d.classid = 'pg_constraint'::regclass"
        " AND n.oid = d.objid AND n.contype = 'n')"
    )

    def _depending(self, table: TableName, oid: int, column: Column) -> Iterator[str]:
        del table
        for what, kind in self.query(
            "SELECT DISTINCT pg_describe_object(d.classid, d.objid, d.objsubid), d.classid::regclass::text"
            " FROM pg_depend d JOIN pg_attribute a ON a.attrelid = d.refobjid AND a.attnum = d.refobjsubid"
            " WHERE d.refclassid = 'pg_class'::regclass AND d.refobjid = ?::bigint AND a.attname = ?::text"
            # An index made for a constraint is reported as the constraint.
            " AND NOT (d.classid = 'pg_class'::regclass AND EXISTS (SELECT 1 FROM pg_depend i"
            " WHERE i.classid = d.classid AND i.objid = d.objid AND i.deptype = 'i'"
            " AND i.refclassid = 'pg_constraint'::regclass))"
            # The partition key depends on the column as the table itself.
            " AND NOT (d.classid = 'pg_class'::regclass AND d.objid = d.refobjid AND d.objsubid = 0)"
            f" AND {self._harmless} ORDER BY 1",
            oid,
            column.name,
        ):
            advice = (
                "drop the default and let the application set it" if kind == "pg_attrdef" else "drop it first"
            )
            yield f"{what} depends on the column {column.name}; {advice}"

    def _firing(self, table: TableName, oid: int, column: Column) -> Iterator[str]:
        del table
        for name, fires, body in self.query(
            "SELECT t.tgname::text, (t.tgtype & 16) <> 0 AND t.tgattr = '', p.prosrc"
            " FROM pg_trigger t JOIN pg_proc p ON p.oid = t.tgfoid"
            " WHERE t.tgrelid = ?::bigint AND NOT t.tgisinternal AND t.tgenabled <> 'D'",
            oid,
        ):
            if fires:
                yield f"the trigger {name} fires for each rewritten row; drop or disable it first"
            elif self.mentions(body, column.name):
                yield f"the function of the trigger {name} uses {column.name}; change it first"
        for (name,) in self.query(
            "SELECT rulename::text FROM pg_rewrite WHERE ev_class = ?::bigint AND ev_type = '2'", oid
        ):
            yield f"the rule {name} rewrites updates of the table; drop it first"

    def _inherited(self, table: TableName, oid: int, column: Column) -> Iterator[str]:
        for child, parent, partition in self.query(
            "SELECT inhrelid::regclass::text, inhparent::regclass::text, c.relispartition FROM pg_inherits"
            " JOIN pg_class c ON c.oid = inhrelid WHERE inhrelid = ?::bigint OR inhparent = ?::bigint",
            oid,
            oid,
        ):
            if partition:
                if child.split(".")[-1].strip('"') == table.name:
                    yield f"{child} is a partition; name the table {parent} instead"
            else:
                yield f"{child} inherits from {parent}; its rows share no key, so detach it first"
        for _ in self.query(
            "SELECT 1 FROM pg_partitioned_table p JOIN pg_attribute a ON a.attrelid = p.partrelid"
            " AND a.attnum = ANY (p.partattrs) WHERE p.partrelid = ?::bigint AND a.attname = ?::text",
            oid,
            column.name,
        ):
            yield f"the table is partitioned by {column.name}; partition it by another column first"
        for (other,) in self.query(
            "SELECT a.attrelid::regclass::text || '.' || a.attname FROM pg_attribute a"
            " JOIN pg_class c ON c.reltype = a.atttypid WHERE c.oid = ?::bigint AND NOT a.attisdropped",
            oid,
        ):
            yield f"the column {other} has the table's row type; change it first"

    def _replicated(self, table: TableName, oid: int, column: Column) -> Iterator[str]:
        del oid
        for (name,) in self.query(
            "SELECT pubname::text FROM pg_publication_tables"
            " WHERE schemaname = ?::text AND tablename = ?::text",
            table.schema,
            table.name,
        ):
            yield (
                f"the publication {name} sends {column.name} to subscribers, whose column would have to "
                "change at the same moment; take the table out of it first"
            )
