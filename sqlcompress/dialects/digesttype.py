"""The column type of a digest: 32 bytes, in the form that each database indexes best."""

from __future__ import annotations

from typing import Any, Final

from sqlalchemy import LargeBinary
from sqlalchemy.dialects import mssql, mysql, oracle
from sqlalchemy.types import TypeEngine

#: Bytes of a SHA-256 digest (FIPS 180-4).
DIGEST_BYTES: Final = 32


def digest_type() -> TypeEngine[Any]:
    """BINARY(32) where a BLOB could be indexed by a prefix alone, BYTEA or BLOB elsewhere."""
    return (
        LargeBinary(DIGEST_BYTES)
        .with_variant(mysql.BINARY(DIGEST_BYTES), "mysql", "mariadb")
        .with_variant(mssql.BINARY(DIGEST_BYTES), "mssql")
        .with_variant(oracle.RAW(DIGEST_BYTES), "oracle")
    )
