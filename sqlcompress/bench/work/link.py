"""The same writes and reads over a slow link, by one session, with the bytes that passed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from sqlalchemy.engine import make_url

from sqlcompress.bench.client import Load, Read
from sqlcompress.bench.link import SERVER_ADDRESS, Link
from sqlcompress.bench.sessions import Spent
from sqlcompress.bench.work.stage import Stage


def over_link(stage: Stage, link: Link, rates: Sequence[int], rows: int) -> dict[str, float]:
    """Inserts, then reads by key, of ``rows`` rows at each rate.

    Args:
        stage: Its sessions live at the far end of the link.
        link: The link.
        rates: Megabits a second.
        rows: Rows written, and read.
    """
    url = make_url(stage.client.reach.url).set(host=SERVER_ADDRESS).render_as_string(hide_password=False)
    far = replace(stage.client, reach=replace(stage.client.reach, url=url))
    stage = replace(stage, client=far)
    figures: dict[str, float] = {}
    for rate in rates:
        link.set_rate(rate)
        stage.create()
        figures |= _counted(f"link_{rate}_load", link, lambda: stage.run(Load(rows)))
        stage.database.flush()
        figures |= _counted(
            f"link_{rate}_read", link, lambda: stage.run(Read(rows, rows, stage.round, warm=0.0))
        )
    figures["link_stored_bytes"] = stage.database.stored_bytes()
    return figures


def _counted(name: str, link: Link, work: Callable[[], Spent]) -> dict[str, float]:
    to_server, from_server = link.bytes_passed()
    spent = work()
    now_to, now_from = link.bytes_passed()
    return {
        f"{name}_seconds": spent.seconds,
        f"{name}_to_server_bytes": now_to - to_server,
        f"{name}_from_server_bytes": now_from - from_server,
    }
