"""Compressed types as the text of a revision: the text and its import lines give the type back."""

from __future__ import annotations

import json
import sys
import types

import pytest
import sqlalchemy as sa
from alembic.autogenerate.api import AutogenContext
from alembic.migration import MigrationContext
from alembic.operations.ops import UpgradeOps

from sqlcompress import CompressedBinary, CompressedJSON, CompressedText, Gzip, Zlib, Zstd
from sqlcompress.alembic.ops import CompressColumnOp, DecompressColumnOp
from sqlcompress.alembic.render import render_type
from tests.values import DICTIONARY


def context_of(**options):
    migration = MigrationContext.configure(dialect_name="sqlite")
    opts = {"sqlalchemy_module_prefix": "sa.", "alembic_module_prefix": "op.", **options}
    return AutogenContext(migration, metadata=sa.MetaData(), opts=opts, autogenerate=False)


def evaluated(text, imports):
    namespace = {"sa": sa}
    exec("\n".join(sorted(imports)), namespace)
    return eval(text, namespace)


@pytest.mark.parametrize(
    "type_",
    [
        CompressedText(),
        CompressedText(Zstd(level=9, checksum=False), min_size=10, max_size=1000, legacy=("mysql", "zlib")),
        CompressedJSON(Zlib(9), none_as_null=True),
        CompressedJSON(serializer=json.dumps, deserializer=json.loads),
        CompressedBinary(Gzip()),
    ],
    ids=repr,
)
def test_text_and_imports_give_the_type_back(type_):
    context = context_of()
    back = evaluated(render_type(type_, context), context.imports)
    assert type(back) is type(type_)
    assert back.settings() == type_.settings()


def test_a_dictionary_is_read_from_a_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    context = context_of()
    text = render_type(CompressedText(Zstd(level=5, dictionary=DICTIONARY)), context)
    with pytest.raises(FileNotFoundError, match=r"documents\.zdict"):
        evaluated(text, context.imports)
    (tmp_path / "documents.zdict").write_bytes(DICTIONARY.content)
    assert evaluated(text, context.imports).codec == Zstd(level=5, dictionary=DICTIONARY)


def test_variants_in_both_nestings():
    for type_ in (
        CompressedText(Zlib()).with_variant(sa.Text(), "sqlite").with_variant(CompressedText(), "mysql"),
        sa.Text().with_variant(CompressedJSON(Zstd(5)), "postgresql"),
    ):
        context = context_of()
        text = render_type(type_, with_hook(context))
        back = evaluated(text, context.imports)
        assert repr(back) == repr(type_)
        assert {name: repr(variant) for name, variant in back._variant_mapping.items()} == {
            name: repr(variant) for name, variant in type_._variant_mapping.items()
        }


def with_hook(context):
    """What the comparator that runs first does to a context."""
    from sqlcompress.alembic.autogenerate import _render_compressed_types

    _render_compressed_types(context, UpgradeOps([]))
    return context


def test_a_type_of_the_applications_own_keeps_its_module(monkeypatch):
    module = types.ModuleType("an_application")
    monkeypatch.setitem(sys.modules, "an_application", module)
    module.Body = type("Body", (CompressedText,), {"__module__": "an_application", "cache_ok": True})
    context = context_of()
    text = render_type(module.Body(Zlib()), context)
    assert text == "an_application.Body(codec=Zlib())"
    assert repr(evaluated(text, context.imports)) == "Body(codec=Zlib())"
    prefixed = context_of(user_module_prefix="own.")
    assert render_type(module.Body(), prefixed) == "own.Body()"
    assert prefixed.imports == set()


def test_the_hook_of_env_py_goes_first():
    def hook(kind, item, context):
        return "Mine()" if kind == "type" and isinstance(item, CompressedJSON) else False

    for context in (context_of(render_item=hook), with_hook(context_of(render_item=hook))):
        assert render_type(CompressedJSON(), context) == "Mine()"
        assert render_type(CompressedText(), context) == "CompressedText()"
        assert context.imports == {"from sqlcompress import CompressedText"}


def test_the_options_of_the_migration_are_left_alone():
    context = context_of()
    given = context.opts
    with_hook(context)
    assert "render_item" not in given


def test_reversing_leaves_legacy_formats_out():
    op = CompressColumnOp("t", "d", type_=CompressedText(Zlib(), legacy=("mysql",)), existing_type=sa.Text())
    back = op.reverse()
    assert isinstance(back, DecompressColumnOp)
    assert repr(back.existing_type) == "CompressedText(codec=Zlib())"
    assert op.type_.legacy == ("mysql",)
