"""PostgreSQL: pg_depend, and what it does not know."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, ClassVar

from sqlcompress.dialects.carry import PostgreSQLDefault
from sqlcompress.dialects.catalog.base import Catalog, FoundKey, no_column, no_table
from sqlcompress.dialects.catalog.words import tokens
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
_COMMENT = re.compile(r"--[^\n]*|/\*.*?\*/", re.DOTALL)
_JOB = re.compile(r"'sqlcompress\.job'")
_NATIVE_KEYS = frozenset({"smallint", "integer", "bigint"})


class PostgreSQLCatalog(Catalog):
    """One database, in the schema the table was found in."""

    grants_follow_the_column: ClassVar[bool] = True

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

    def blockers(
        self, table: TableName, column: Column, *, compress: bool, collation: str | None = None
    ) -> list[str]:
        oid = self._oid(table)
        found: list[str] = []
        if compress:
            if column.type_sql.startswith("character("):
                found.append(
                    f"the column {column.name} is {column.type_sql}, whose padding blanks would be lost; "
                    "change it to TEXT or VARCHAR first"
                )
            if column.collation is not None and column.collation != collation:
                found.append(
                    f"the column {column.name} has the collation {column.collation}, which the way back "
                    f'would not find; name it by existing_type=sa.Text(collation="{column.collation}") here '
                    "and by type_= there, or change the column to the default collation"
                )
            found += self._settings(oid, column)
        for part in (self._hidden, self._depending, self._firing, self._inherited, self._replicated):
            found += part(table, oid, column)
        return list(dict.fromkeys(found))

    def _settings(self, oid: int, column: Column) -> Iterator[str]:
        """Settings of the column that the way back would not find."""
        # PostgreSQL 14 has a compression of its own for each column.
        compression = "a.attcompression" if (self.dialect.server_version_info or ()) >= (14,) else "''"
        for storage, usual, method, target, options in self.query(
            f"SELECT a.attstorage::text, t.typstorage::text, {compression}::text,"
            " coalesce(a.attstattarget, -1)::int, a.attoptions::text FROM pg_attribute a JOIN pg_type t"
            " ON t.oid = a.atttypid WHERE a.attrelid = ?::bigint AND a.attname = ?::text",
            oid,
            column.name,
        ):
            name = column.name
            # A binary column that is EXTERNAL may be so by an earlier run.
            if storage != usual and (column.kind != "binary" or storage != "e"):
                yield (
                    f"the column {name} has a storage mode of its own, which would be lost; "
                    "SET STORAGE EXTENDED"
                )
            if method and (column.kind != "binary" or self.renames):
                yield (
                    f"the column {name} has a compression method of its own, which would be lost; "
                    "SET COMPRESSION default"
                )
            # A server may keep options of its own there; n_distinct and its kin are what a person can set.
            if self.renames and (target >= 0 or "n_distinct" in (options or "")):
                yield (
                    f"the column {name} has a statistics target or options of its own, which another column "
                    'in its place would not have; RESET them, or use strategy="rewrite", which keeps them'
                )

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
        is_carried = PostgreSQLDefault(column).is_carried
        for what, is_default, definition in self.query(
            "SELECT DISTINCT pg_describe_object(d.classid, d.objid, d.objsubid),"
            # What a generated column is made from is kept as a default, too: of the other column, or of this.
            " a.attgenerated = '' AND EXISTS (SELECT 1 FROM pg_attrdef f WHERE f.adrelid = d.refobjid"
            " AND f.adnum = d.refobjsubid AND f.oid = d.objid AND d.classid = 'pg_attrdef'::regclass),"
            " CASE d.classid WHEN 'pg_constraint'::regclass THEN pg_get_constraintdef(d.objid)"
            " WHEN 'pg_class'::regclass THEN pg_get_indexdef(d.objid) END"
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
            if is_default and is_carried:
                continue
            # The server makes these again within ALTER TABLE, and a test for NULL means the same on bytes.
            left = tokens(self.uses(definition, column.name))
            if definition and all(piece != column.name for piece, _ in left):
                continue
            advice = (
                "it is no constant that could be brought back exactly: drop it and let the application set it"
                if is_default
                else "drop it first"
            )
            yield f"{what} depends on the column {column.name}; {advice}"

    def _firing(self, table: TableName, oid: int, column: Column) -> Iterator[str]:
        del table
        for name, fires, body, definition in self.query(
            "SELECT t.tgname::text, (t.tgtype & 16) <> 0 AND t.tgattr = '', p.prosrc,"
            " pg_get_triggerdef(t.oid)"
            " FROM pg_trigger t JOIN pg_proc p ON p.oid = t.tgfoid"
            " WHERE t.tgrelid = ?::bigint AND NOT t.tgisinternal AND t.tgenabled <> 'D'",
            oid,
        ):
            knows = _JOB.search(_COMMENT.sub(" ", f"{body} {definition}"))
            if fires and not knows:
                yield (
                    f"the trigger {name} fires for each rewritten row; drop or disable it first, or let it "
                    "ask IF current_setting('sqlcompress.job', true) IS DISTINCT FROM '1' THEN, which the "
                    "job sets in its sessions"
                )
            elif self.mentions(self.uses(body, column.name), column.name):
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

    def carried(self, table: TableName, column: Column) -> list[str]:
        found = super().carried(table, column)
        if self.grants_for(table, column.name, column.name):
            found.append("column privileges")
        if column.kind != "binary":
            found.append("storage mode (EXTERNAL while compressed)")
        return found

    def grants_for(self, table: TableName, column: str, new_name: str) -> list[str]:
        quote = self.dialect.identifier_preparer.quote_identifier
        return [
            f"GRANT {privilege} ({quote(new_name)}) ON TABLE {table.quoted(self.dialect)} TO "
            + ("PUBLIC" if role is None else quote(role))
            + (" WITH GRANT OPTION" if grantable else "")
            for privilege, role, grantable in self.query(
                "SELECT g.privilege_type, r.rolname::text, g.is_grantable FROM pg_attribute a"
                " CROSS JOIN LATERAL aclexplode(a.attacl) g LEFT JOIN pg_roles r ON r.oid = g.grantee"
                " WHERE a.attrelid = ?::bigint AND a.attname = ?::text ORDER BY 2, 1",
                self._oid(table),
                column,
            )
        ]

    def table_bytes(self, table: TableName) -> int:
        found = self.query(
            "SELECT coalesce(sum(pg_total_relation_size(relid)), 0)::bigint FROM pg_partition_tree(?::oid)"
            " UNION ALL SELECT pg_total_relation_size(?::oid) ORDER BY 1 DESC",
            *(self._oid(table),) * 2,
        )
        return int(found[0][0])
