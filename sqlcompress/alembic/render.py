"""The operations as the text of a revision."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from alembic.autogenerate.render import _alembic_autogenerate_prefix, _repr_type, renderers

import sqlcompress
from sqlcompress.alembic.companions import AddCompanionOp, AddDigestOp, AddExtractedOp
from sqlcompress.alembic.kept import DropCompressedOriginalOp
from sqlcompress.alembic.ops import CompressColumnOp, DecompressColumnOp
from sqlcompress.alembic.recompress import RecompressColumnOp
from sqlcompress.alembic.settings import DEFAULTS, ColumnOp
from sqlcompress.companions import Extraction
from sqlcompress.compressed import Compressed
from sqlcompress.dictionaries import Dictionary

if TYPE_CHECKING:
    from alembic.autogenerate.api import AutogenContext
    from sqlalchemy.types import TypeEngine


def render_type(type_: TypeEngine[Any], context: AutogenContext) -> str:
    """The type, with the import lines it needs; the ``render_item`` hook of env.py goes first."""
    hook = context.opts.get("render_item")
    rendered = hook("type", type_, context) if hook else False
    if rendered is not False:
        return str(rendered)
    if not isinstance(type_, Compressed):
        return str(_repr_type(type_, context))
    return render_compressed(type_, context)


def render_compressed(type_: Compressed[Any], context: AutogenContext) -> str:
    """A compressed type as text that evaluates once ``context.imports`` stand above it."""
    text = repr(type_)
    dictionary = getattr(type_.codec, "dictionary", None)
    if isinstance(dictionary, Dictionary):
        # The content is too long for a script, so that reads a file; where it lies is for a person to say.
        source = f"Dictionary.from_file({dictionary.name + '.zdict'!r}, name={dictionary.name!r})"
        text = text.replace(repr(dictionary), source)
        context.imports.add("from sqlcompress import Dictionary")
    names = set(re.findall(r"\b[A-Z]\w+(?=\()", text)) & set(sqlcompress.__all__)
    module = type(type_).__module__
    if module != sqlcompress.__name__:
        names.discard(type(type_).__name__)
        prefix = context.opts.get("user_module_prefix")
        if prefix is None:
            context.imports.add(f"import {module}")
        text = f"{f'{module}.' if prefix is None else prefix}{text}"
    context.imports.update(f"from sqlcompress import {name}" for name in names)
    for value, default in type_.settings().values():
        if value != default and callable(value) and hasattr(value, "__qualname__"):
            context.imports.add(f"import {value.__module__}")
    for dialect, variant in sorted(type_._variant_mapping.items()):  # noqa: SLF001 - as Alembic reads it
        text += f".with_variant({render_type(variant, context)}, {dialect!r})"
    return text


def _render(name: str, context: AutogenContext, op: ColumnOp) -> str:
    arguments = [repr(op.table_name), repr(op.column_name), f"type_={render_type(op.type_, context)}"]
    if op.existing_type is not None:
        arguments.append(f"existing_type={render_type(op.existing_type, context)}")
    if op.existing_nullable is not None:
        arguments.append(f"existing_nullable={op.existing_nullable!r}")
    if op.schema is not None:
        arguments.append(f"schema={op.schema!r}")
    # A function has no text that would give it back.
    arguments += [
        f"{key}={value!r}"
        for key, value in op.settings().items()
        if value != DEFAULTS[key] and not callable(value)
    ]
    return f"{_alembic_autogenerate_prefix(context)}{name}({', '.join(arguments)})"


def _render_compress(context: AutogenContext, op: CompressColumnOp) -> str:
    return _render("compress_column", context, op)


def _render_decompress(context: AutogenContext, op: DecompressColumnOp) -> str:
    return _render("decompress_column", context, op)


def _render_recompress(context: AutogenContext, op: RecompressColumnOp) -> str:
    return _render("recompress_column", context, op)


def _render_companion(context: AutogenContext, op: AddCompanionOp) -> str:
    names = [repr(name) for name in (op.table_name, op.column_name, op.companion_name)]
    if isinstance(op.companion, Extraction):
        names += [repr(op.companion.path), f"type_={render_type(op.type_, context)}"]
    assert op.existing_type is not None  # noqa: S101 - the operation has checked it
    names.append(f"existing_type={render_type(op.existing_type, context)}")
    if op.schema is not None:
        names.append(f"schema={op.schema!r}")
    return f"{_alembic_autogenerate_prefix(context)}{op.name}({', '.join(names)})"


def _render_drop(context: AutogenContext, op: DropCompressedOriginalOp) -> str:
    schema = "" if op.schema is None else f", schema={op.schema!r}"
    prefix = _alembic_autogenerate_prefix(context)
    return f"{prefix}drop_compressed_original({op.table_name!r}, {op.column_name!r}{schema})"


_registered = False


def register() -> None:
    """Tell Alembic how to write the operations; again without effect."""
    global _registered  # noqa: PLW0603 - Alembic refuses the same registration twice
    if not _registered:
        renderers.dispatch_for(CompressColumnOp)(_render_compress)
        renderers.dispatch_for(DecompressColumnOp)(_render_decompress)
        renderers.dispatch_for(AddDigestOp)(_render_companion)
        renderers.dispatch_for(AddExtractedOp)(_render_companion)
        renderers.dispatch_for(RecompressColumnOp)(_render_recompress)
        renderers.dispatch_for(DropCompressedOriginalOp)(_render_drop)
        _registered = True
