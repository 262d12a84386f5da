"""All that the catalogs say about a table, for a comparison of before and after."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sqlalchemy import Engine

_POSTGRESQL = {
    "columns": (
        "SELECT a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull, col_description(a.attrelid,"
        " a.attnum), pg_get_expr(d.adbin, d.adrelid), a.attstorage::text, a.attcollation::bigint,"
        " a.attacl::text, a.attgenerated::text FROM pg_attribute a LEFT JOIN pg_attrdef d"
        " ON d.adrelid = a.attrelid AND d.adnum = a.attnum WHERE a.attrelid = 't'::regclass AND a.attnum > 0"
        " AND NOT a.attisdropped"
    ),
    "constraints": (
        "SELECT conname, pg_get_constraintdef(oid), obj_description(oid) FROM pg_constraint"
        " WHERE conrelid = 't'::regclass"
    ),
    "indexes": "SELECT indexname, indexdef FROM pg_indexes WHERE tablename = 't'",
    "triggers": (
        "SELECT tgname, pg_get_triggerdef(oid), tgenabled::text FROM pg_trigger WHERE tgrelid = 't'::regclass"
    ),
    "views": "SELECT viewname, definition FROM pg_views WHERE schemaname = 'public'",
    "statistics": "SELECT stxname, pg_get_statisticsobjdef(oid) FROM pg_statistic_ext",
    "policies": "SELECT policyname, qual FROM pg_policies WHERE tablename = 't'",
}
_MYSQL = {
    "columns": (
        "SELECT column_name AS a, column_default AS b, is_nullable AS c, column_type AS d,"
        " character_set_name AS e, collation_name AS f, column_comment AS g, extra AS h,"
        " generation_expression AS i FROM information_schema.columns WHERE table_schema = database()"
        " AND table_name = 't'"
    ),
    "privileges": (
        "SELECT column_name AS a, privilege_type AS b, is_grantable AS c, grantee AS d"
        " FROM information_schema.column_privileges WHERE table_schema = database()"
    ),
    "checks": (
        "SELECT constraint_name AS a, check_clause AS b FROM information_schema.check_constraints"
        " WHERE constraint_schema = database()"
    ),
    "indexes": (
        "SELECT index_name AS a, seq_in_index AS b, column_name AS c, sub_part AS d, index_type AS e"
        " FROM information_schema.statistics WHERE table_schema = database() AND table_name = 't'"
    ),
    "triggers": (
        "SELECT trigger_name AS a, action_statement AS b FROM information_schema.triggers"
        " WHERE trigger_schema = database()"
    ),
    "views": "SELECT table_name AS a FROM information_schema.views WHERE table_schema = database()",
    "partitions": (
        "SELECT partition_name AS a, partition_expression AS b FROM information_schema.partitions"
        " WHERE table_schema = database() AND table_name = 't'"
    ),
}
_SQLITE = {"objects": "SELECT type, name, sql FROM sqlite_master WHERE tbl_name NOT LIKE 'alembic%'"}


def snapshot(engine: Engine) -> dict[str, list[Any]]:
    """What the catalogs say about the table ``t``, by kind, in an order of its own."""
    name = engine.dialect.name
    queries = _SQLITE if name == "sqlite" else _POSTGRESQL if name == "postgresql" else _MYSQL
    with engine.connect() as connection:
        return {
            kind: sorted(
                (
                    tuple(row)
                    for row in connection.exec_driver_sql(
                        query.replace("%", "%%")
                        if "%" in query and engine.dialect.paramstyle != "qmark"
                        else query
                    ).all()
                ),
                key=repr,
            )
            for kind, query in queries.items()
        }
