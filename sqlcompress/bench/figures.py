"""The figures a run measures: what they are called, what they count, and in which table they stand."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

_LINK: Final = "link_"


@dataclass(frozen=True)
class Figure:
    """One figure.

    Attributes:
        name: As in the results.
        title: The column of a table.
        unit: ``"s"`` or ``"B"``.
    """

    name: str
    title: str
    unit: str


@dataclass(frozen=True)
class Group:
    """Figures of one table.

    Attributes:
        title: The table's heading.
        note: What has to be known to read it.
        figures: The columns.
    """

    title: str
    note: str
    figures: tuple[Figure, ...]


def _seconds(**titles: str) -> tuple[Figure, ...]:
    return tuple(Figure(f"{name}_seconds", title, "s") for name, title in titles.items())


def _bytes(**titles: str) -> tuple[Figure, ...]:
    return tuple(Figure(f"{name}_bytes", title, "B") for name, title in titles.items())


_WORKS: Final = ("load", "read", "select", "insert", "update", "delete", "convert")

_GROUPS: Final = (
    Group(
        "Loading, size, reading",
        "Allocated: blocks of the file system that the table's files take after the load. Rebuilt: the same "
        "after OPTIMIZE TABLE, VACUUM FULL or VACUUM.",
        (
            *_seconds(load="load"),
            *_bytes(allocated="allocated", rebuilt="rebuilt"),
            *_seconds(read="reads by key", rebuild="rebuild"),
        ),
    ),
    Group(
        "Many rows",
        "SELECT of all rows, INSERT of a tenth, UPDATE of another column of all rows, DELETE of a quarter.",
        _seconds(select="SELECT", insert="INSERT", update="UPDATE", delete="DELETE"),
    ),
    Group(
        "Converting a table that is there",
        "The plain arm's figure is a rebuild of the table as it is.",
        (*_seconds(convert="conversion"), *_bytes(converted="allocated after it")),
    ),
    Group(
        "Backups, piped to zstd -3",
        "The physical backup holds the server's own tables and its log too.",
        (
            *_seconds(dump="logical"),
            *_bytes(dump="logical, raw", dump_zstd="logical, compressed"),
            *_seconds(physical="physical"),
            *_bytes(physical="physical, raw", physical_zstd="physical, compressed"),
        ),
    ),
    Group(
        "Processor time of the clients",
        "Seconds of all sessions together.",
        tuple(Figure(f"{name}_client_cpu_seconds", name, "s") for name in _WORKS),
    ),
    Group(
        "Processor time of the server",
        "Seconds of all its processes; work it does in the background after the last commit is not in it.",
        tuple(Figure(f"{name}_server_cpu_seconds", name, "s") for name in _WORKS),
    ),
)


def groups(names: list[str]) -> list[Group]:
    """The tables for figures of these names; the slow link's are made from the rates that occur."""
    parts = [name.split("_") for name in names if name.startswith(_LINK)]
    rates = dict.fromkeys(part[1] for part in parts if part[1].isdigit())
    link = Group(
        "Over a slow link, one session",
        "Bytes as they passed the interface, headers included; at the last rate.",
        (
            *(
                Figure(f"link_{rate}_{work}_seconds", f"{title}, {rate} Mbit/s", "s")
                for work, title in (("load", "INSERT"), ("read", "reads"))
                for rate in rates
            ),
            *(
                Figure(f"link_{rate}_{name}_bytes", title, "B")
                for rate in list(rates)[-1:]
                for name, title in (
                    ("load_to_server", "INSERT, bytes to the server"),
                    ("read_from_server", "reads, bytes from it"),
                )
            ),
        ),
    )
    there = set(names)
    return [
        Group(group.title, group.note, shown)
        for group in (*_GROUPS, link)
        if (shown := tuple(figure for figure in group.figures if figure.name in there))
    ]


def amount(value: float, unit: str) -> str:
    """A figure with its unit."""
    if unit == "B":
        return f"{value / 1e6:,.1f} MB"
    return f"{value:.2f} s" if value < 100 else f"{value:,.0f} s"
