"""The types that stand in for SQLAlchemy's own, as the mode and the database of the run have them."""

from __future__ import annotations

import os
from collections import Counter

from sqlalchemy import JSON, LargeBinary, PickleType, String, Text, Unicode, UnicodeText, make_url

from sqlcompress import CompressedBinary, CompressedJSON, CompressedText, Gzip, Zlib, Zstd
from sqlcompress.frames import is_framed

#: What a run is told: the database, the mode, and where the report goes. Not in arguments, where other users
#: of the machine could read the password.
URL_VARIABLE = "SQLCOMPRESS_COMPLIANCE_URL"
MODE_VARIABLE = "SQLCOMPRESS_COMPLIANCE_MODE"
REPORT_VARIABLE = "SQLCOMPRESS_COMPLIANCE_REPORT"

#: SQLAlchemy's own types; ours; ours with every value in a frame.
PLAIN, STORED, FRAMED = MODES = ("plain", "stored", "framed")

if MODE_VARIABLE not in os.environ:
    raise RuntimeError("these are run by tests/integration/test_compliance.py")
url = make_url(os.environ[URL_VARIABLE])
mode = os.environ[MODE_VARIABLE]
if mode not in MODES:
    raise ValueError(f"{MODE_VARIABLE} is one of {', '.join(MODES)}, not {mode!r}")

#: MySQL and MariaDB decode zlib alone; elsewhere the modes have different codecs.
_codec = (
    Zlib() if url.get_backend_name() in {"mysql", "mariadb"} else {STORED: Gzip(), FRAMED: Zstd()}.get(mode)
)

#: How many values went through our types since this was last cleared, by whether they got a frame.
written = Counter()


class _Counting:
    """Counts values, and in the mode for it frames those that a column would keep as they are."""

    def _make_bind(self, dialect):
        bind, frame = super()._make_bind(dialect), self.codec.compressor()

        def bind_counted(value):
            stored = bind(value)
            if stored is None:
                return None
            if mode == FRAMED and not is_framed(stored):
                stored = frame(stored)
            written[is_framed(stored)] += 1
            return stored

        return bind_counted


# The suites call these as they call SQLAlchemy's. There is no length in ours, and no collation.


class SuiteText(_Counting, CompressedText):
    cache_ok = True

    def __init__(self, length=None, collation=None):
        super().__init__(_codec)


class SuiteJSON(_Counting, CompressedJSON):
    cache_ok = True

    def __init__(self, none_as_null=False):
        super().__init__(_codec, none_as_null=none_as_null)


class SuiteBinary(_Counting, CompressedBinary):
    cache_ok = True

    def __init__(self, length=None):
        super().__init__(_codec)


class SuitePickle(PickleType):
    cache_ok = True
    impl = SuiteBinary


_OURS = {
    JSON: SuiteJSON,
    LargeBinary: SuiteBinary,
    PickleType: SuitePickle,
    String: SuiteText,
    Text: SuiteText,
    Unicode: SuiteText,
    UnicodeText: SuiteText,
}


def in_place_of(type_):
    """What this run has in place of one of SQLAlchemy's types."""
    return type_ if mode == PLAIN else _OURS[type_]
