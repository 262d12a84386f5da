"""A slow link between the sessions and the server: a network namespace, a pair of interfaces, and tc.

Both directions have the same rate (tbf, see tc-tbf(8)); bytes are those that passed the interfaces, headers
of Ethernet, IP and TCP included.
"""

from __future__ import annotations

import secrets
import shutil
import socket
import subprocess
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import Final

import psutil

from sqlcompress.errors import SqlcompressError

#: Of the range that RFC 2544 sets aside for benchmarks of networks.
SERVER_ADDRESS: Final = "198.18.37.1"
_CLIENT_ADDRESS: Final = "198.18.37.2"
_RANGE: Final = ip_network("198.18.0.0/15")
_LATENCY: Final = "100ms"


class LinkUnavailableError(SqlcompressError):
    """No network namespace can be made here."""


@dataclass(frozen=True)
class Link:
    """Two interfaces, one of them in a namespace of its own.

    Attributes:
        namespace: Where sessions have to be.
        interface: The server's end.
    """

    namespace: str
    interface: str

    def set_rate(self, mbit: int) -> None:
        """Megabits a second, in each direction."""
        # One tick of the kernel's clock at 250 Hz has to fit into the burst, and a few packets at any rate.
        burst = max(16_384, mbit * 1_000_000 // 8 // 250 * 2)
        shape = ["root", "tbf", "rate", f"{mbit}mbit", "burst", str(burst), "latency", _LATENCY]
        _run("tc", "qdisc", "replace", "dev", self.interface, *shape)
        _run("ip", "netns", "exec", self.namespace, "tc", "qdisc", "replace", "dev", "client", *shape)

    def bytes_passed(self) -> tuple[int, int]:
        """Bytes to the server and from it, since the link was made."""
        statistics = Path("/sys/class/net", self.interface, "statistics")
        return int((statistics / "rx_bytes").read_text()), int((statistics / "tx_bytes").read_text())


def open_link(running: ExitStack) -> Link:
    """A link that is taken down at the end of ``running``.

    Raises:
        LinkUnavailableError: That needs root, and the programs ip and tc.
    """
    missing = [program for program in ("ip", "tc") if shutil.which(program) is None]
    if missing:
        raise LinkUnavailableError(f"a slow link needs {' and '.join(missing)} (package iproute2)")
    for name, addresses in psutil.net_if_addrs().items():
        for one in addresses:
            if one.family == socket.AF_INET and ip_address(one.address) in _RANGE:
                raise LinkUnavailableError(f"a slow link needs {_RANGE}, which {name} is in already")
    tag = secrets.token_hex(3)
    link = Link(f"sqlcompress-{tag}", f"sqlc{tag}")
    _run("ip", "netns", "add", link.namespace)
    running.callback(_quietly, "ip", "netns", "del", link.namespace)
    inside = ("ip", "-n", link.namespace)
    peer = ("peer", "name", "client", "netns", link.namespace)
    _run("ip", "link", "add", link.interface, "type", "veth", *peer)
    running.callback(_quietly, "ip", "link", "del", link.interface)
    _run("ip", "address", "add", f"{SERVER_ADDRESS}/30", "dev", link.interface)
    _run("ip", "link", "set", link.interface, "up")
    _run(*inside, "address", "add", f"{_CLIENT_ADDRESS}/30", "dev", "client")
    _run(*inside, "link", "set", "client", "up")
    _run(*inside, "link", "set", "lo", "up")
    return link


def _run(*arguments: str) -> None:
    done = subprocess.run(arguments, capture_output=True, text=True, check=False)  # noqa: S603 - ip and tc
    if done.returncode != 0:
        words = " ".join(done.stderr.split()) or f"exit status {done.returncode}"
        raise LinkUnavailableError(f"a slow link cannot be made here: `{' '.join(arguments[:3])}`: {words}")


def _quietly(*arguments: str) -> None:
    with suppress(LinkUnavailableError):
        _run(*arguments)
