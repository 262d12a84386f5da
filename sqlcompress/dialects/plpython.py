"""The functions with which PostgreSQL decodes: in PL/Python, where the server allows it.

They read what a compressed column holds: plain values as they are, zlib and gzip frames by the standard
library of the server's Python, zstd frames where that Python has the package zstandard, dictionaries from
the table ``sqlcompress_dictionary``. A frame that is cut, damaged or followed by something raises, as it does
in the client.

They are declared IMMUTABLE, so that indexes can be built over them: a frame's dictionary never changes.
"""

from __future__ import annotations

from typing import Final

TEXT: Final = "sqlcompress_text"
BINARY: Final = "sqlcompress_binary"
LANGUAGE: Final = "plpython3u"
_MAX_SIZE: Final = 268_435_456

_BODY: Final = """
import zlib
def inflated(wbits):
    decoder = zlib.decompressobj(wbits)
    try:
        plain = decoder.decompress(stored, {max_size} + 1)
    except zlib.error:
        raise ValueError("sqlcompress: a frame is damaged")
    if len(plain) > {max_size}:
        raise ValueError("sqlcompress: a value has more than {max_size} bytes")
    if not decoder.eof or decoder.unused_data:
        raise ValueError("sqlcompress: a frame is cut, or something follows it")
    return plain
def unframed():
    try:
        import zstandard
    except ImportError:
        raise ValueError("sqlcompress: the Python of this server has no package zstandard")
    try:
        header = zstandard.get_frame_parameters(stored)
        if header.content_size > {max_size}:
            raise ValueError("sqlcompress: a frame declares no size, or more than {max_size} bytes")
        kept = GD.setdefault("sqlcompress", {{}})
        if header.dict_id not in kept:
            raw = None
            if header.dict_id:
                plan = plpy.prepare("SELECT content, sha256 FROM {table} WHERE id = $1", ["bigint"])
                found = plpy.execute(plan, [header.dict_id])
                if not found:
                    words = "sqlcompress: there is no dictionary %d in {table_words}"
                    raise ValueError(words % header.dict_id)
                import hashlib
                content = found[0]["content"]
                if hashlib.sha256(content).hexdigest() != found[0]["sha256"]:
                    raise ValueError("sqlcompress: the dictionary %d is damaged" % header.dict_id)
                raw = zstandard.ZstdCompressionDict(content, dict_type=zstandard.DICT_TYPE_FULLDICT)
            kept[header.dict_id] = zstandard.ZstdDecompressor(dict_data=raw)
        decoder = kept[header.dict_id].decompressobj()
        plain = decoder.decompress(stored)
    except zstandard.ZstdError:
        raise ValueError("sqlcompress: a frame is damaged")
    if not decoder.eof or decoder.unused_data or len(plain) != header.content_size:
        raise ValueError("sqlcompress: a frame is cut, or something follows it")
    return plain
if stored[:4] == b"\\x28\\xb5\\x2f\\xfd":
    plain = unframed()
elif stored[:2] == b"\\x78\\x9c":
    plain = inflated(15)
elif stored[:3] == b"\\x1f\\x8b\\x08":
    plain = inflated(31)
else:
    plain = stored
"""
_AS_TEXT: Final = """
try:
    return plain.decode("utf-8")
except UnicodeDecodeError:
    raise ValueError("sqlcompress: a value is neither a frame nor UTF-8")
"""
_RETURNS: Final = {TEXT: ("text", _AS_TEXT), BINARY: ("bytea", "return plain\n")}


def create_functions_sql(prefix: str, dictionary_table: str) -> list[str]:
    """The statements that make the functions, or make them anew.

    Args:
        prefix: The schema, quoted and with its dot, or empty.
        dictionary_table: The table of dictionaries, quoted, with its schema.
    """
    # Into a Python string within the body.
    table = dictionary_table.replace("\\", "\\\\").replace('"', '\\"')
    body = _BODY.format(max_size=_MAX_SIZE, table=table, table_words=table.replace("%", "%%"))
    return [
        f"CREATE OR REPLACE FUNCTION {prefix}{name}(stored bytea) RETURNS {returns} LANGUAGE {LANGUAGE} "
        f"IMMUTABLE STRICT PARALLEL SAFE AS $sqlcompress${body}{last}$sqlcompress$"
        for name, (returns, last) in _RETURNS.items()
    ]


def drop_functions_sql(prefix: str) -> list[str]:
    """The statements that drop them; an index over one makes the server refuse."""
    return [f"DROP FUNCTION IF EXISTS {prefix}{name}(bytea)" for name in _RETURNS]
