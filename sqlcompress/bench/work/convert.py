"""Converting a table that is there: by the engine's own statements, or by our jobs."""

from __future__ import annotations

import time
from typing import Any, Final

from sqlalchemy import Connection, Engine

from sqlcompress.bench.arms.base import TABLE, Arm
from sqlcompress.bench.client import Client, Load, Read
from sqlcompress.bench.work.stage import Stage
from sqlcompress.compressed import Compressed
from sqlcompress.dialects.alter import alteration_of
from sqlcompress.dialects.catalog import catalog_of
from sqlcompress.errors import SqlcompressError
from sqlcompress.jobs.column import Batching, compress_column
from sqlcompress.jobs.shadow import compress_shadow

#: Rows that are read afterwards: every value is compared with the document.
_LOOKED_AT: Final = 1000


def converts(arm: Arm) -> bool:
    """Whether there is a way from the plain table to this arm's."""
    return bool(arm.convert or arm.job)


def convert(stage: Stage, plain: Arm) -> dict[str, float]:
    """Seconds from the plain table to the arm's; the figure of the plain arm is a rebuild as it is.

    Raises:
        SqlcompressError: A value read afterwards is not the one that was written.
    """
    database, client = stage.database, stage.client
    before = Client(client.reach, plain, client.corpus_file, client.dictionary)
    database.create(plain, is_json=client.corpus.is_json, dictionary=None)
    stage.sessions.run(before, Load(stage.rows), database.server_cpu_seconds)
    database.flush()
    server, cpu, begun = database.server_cpu_seconds(), time.process_time(), time.perf_counter()
    if client.arm.job:
        _job(client)
    else:
        kind = "json" if client.corpus.is_json else "text"
        database.execute(*(statement.replace("{type}", kind) for statement in client.arm.convert))
    seconds = time.perf_counter() - begun
    figures = {
        "convert_seconds": seconds,
        "convert_client_cpu_seconds": time.process_time() - cpu,
        "convert_server_cpu_seconds": database.server_cpu_seconds() - server,
    }
    database.flush()
    stage.sessions.run(client, Read(stage.rows, _LOOKED_AT, stage.round), database.server_cpu_seconds)
    return {**figures, "converted_bytes": database.allocated_bytes()}


def _job(client: Client) -> None:
    engine = client.reach.engine()
    type_: Compressed[Any] = client.table.c.d.type  # type: ignore[assignment]  # an arm of ours
    try:
        # As an operation of Alembic does it: in an autocommit block.
        with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            table = catalog_of(connection).table(TABLE, None)
            shared = alteration_of(connection.dialect).needs_same_connection(connection, None)
            bind: Engine | Connection = connection if shared else engine
            if client.arm.job == "shadow":
                result = compress_shadow(connection, bind, table, "d", type_, Batching(), drop_original=True)
            else:
                result = compress_column(connection, bind, table, "d", type_, Batching(), atomic=False)
    finally:
        engine.dispose()
    if not result.rows_written:
        raise SqlcompressError(f"{client.arm.name}: the job has written no row")
