"""Loading a table, its size, reading and changing its rows."""

from __future__ import annotations

import time

from sqlcompress.bench.client import Delete, Load, Read, Scan, UpdateOther
from sqlcompress.bench.work.stage import Stage, named

#: Of the rows: inserted anew, and deleted, by the work on many rows.
_INSERTED, _DELETED = 0.1, 0.25


def load(stage: Stage) -> dict[str, float]:
    """All sessions insert at once. What the arm does afterwards on its own counts into its seconds."""
    stage.create()
    figures = named("load", stage.run(Load(stage.rows)))
    if stage.client.arm.loaded:
        server = stage.database.server_cpu_seconds()
        begun, cpu = time.perf_counter(), time.process_time()
        stage.database.execute(*stage.client.arm.loaded)
        figures["load_seconds"] += time.perf_counter() - begun
        figures["load_client_cpu_seconds"] += time.process_time() - cpu
        figures["load_server_cpu_seconds"] += stage.database.server_cpu_seconds() - server
    begun = time.perf_counter()
    stage.database.flush()
    return {**figures, "flush_seconds": time.perf_counter() - begun}


def size(stage: Stage) -> dict[str, float]:
    """Allocated bytes as the load left them, and the stored values' own bytes."""
    database = stage.database
    return {
        "allocated_bytes": database.allocated_bytes(),
        "file_bytes": database.file_bytes(),
        "stored_bytes": database.stored_bytes(),
    }


def rebuilt(stage: Stage) -> dict[str, float]:
    """The same after the engine has written the table anew."""
    begun = time.perf_counter()
    stage.database.rebuild()
    seconds = time.perf_counter() - begun
    return {"rebuild_seconds": seconds, "rebuilt_bytes": stage.database.allocated_bytes()}


def read(stage: Stage) -> dict[str, float]:
    """Reads by key, by all sessions at once."""
    return named("read", stage.run(Read(stage.rows, stage.reads, stage.round)))


def change(stage: Stage) -> dict[str, float]:
    """SELECT, UPDATE of another column, INSERT and DELETE of many rows, by all sessions at once."""
    added = max(1, int(stage.rows * _INSERTED))
    return {
        **named("select", stage.run(Scan(stage.rows))),
        **named("update", stage.run(UpdateOther(stage.rows))),
        **named("insert", stage.run(Load(added, first=stage.rows))),
        **named("delete", stage.run(Delete(int(stage.rows * _DELETED)))),
    }
