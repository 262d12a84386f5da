"""The operations as the text of a revision."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from alembic.autogenerate.render import _alembic_autogenerate_prefix, _repr_type, renderers

import sqlcompress
from sqlcompress.alembic.ops import CompressColumnOp, DecompressColumnOp
from sqlcompress.compressed import Compressed

if TYPE_CHECKING:
    from alembic.autogenerate.api import AutogenContext
    from sqlalchemy.types import TypeEngine

_DEFAULTS: dict[str, Any] = {
    "strategy": "rewrite",
    "batch_rows": 1000,
    "batch_bytes": 4_194_304,
    "pause_seconds": 0.0,
    "workers": 2,
}


def render_type(type_: TypeEngine[Any], context: AutogenContext) -> str:
    """The type, with the import line it needs; a compressed type's codec needs one of its own."""
    if not isinstance(type_, Compressed):
        return str(_repr_type(type_, context))
    text = repr(type_)
    names = sorted(set(re.findall(r"\b[A-Z]\w+(?=\()", text)) & set(sqlcompress.__all__))
    for name in names:
        context.imports.add(f"from sqlcompress import {name}")
    return text


def _render(name: str, context: AutogenContext, op: CompressColumnOp | DecompressColumnOp) -> str:
    arguments = [repr(op.table_name), repr(op.column_name), f"type_={render_type(op.type_, context)}"]
    if op.existing_type is not None:
        arguments.append(f"existing_type={render_type(op.existing_type, context)}")
    if op.existing_nullable is not None:
        arguments.append(f"existing_nullable={op.existing_nullable!r}")
    if op.schema is not None:
        arguments.append(f"schema={op.schema!r}")
    arguments += [f"{key}={value!r}" for key, value in op.settings().items() if value != _DEFAULTS[key]]
    return f"{_alembic_autogenerate_prefix(context)}{name}({', '.join(arguments)})"


def _render_compress(context: AutogenContext, op: CompressColumnOp) -> str:
    return _render("compress_column", context, op)


def _render_decompress(context: AutogenContext, op: DecompressColumnOp) -> str:
    return _render("decompress_column", context, op)


_registered = False


def register() -> None:
    """Tell Alembic how to write the two operations; again without effect."""
    global _registered  # noqa: PLW0603 - Alembic refuses the same registration twice
    if not _registered:
        renderers.dispatch_for(CompressColumnOp)(_render_compress)
        renderers.dispatch_for(DecompressColumnOp)(_render_decompress)
        _registered = True
