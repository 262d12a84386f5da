"""Dictionaries: what counts as one, and the id that follows from the content."""

from __future__ import annotations

import copy
import pickle

import pytest
import sqlalchemy
import zstandard
from sqlalchemy.dialects import mssql

from sqlcompress import (
    CompressedText,
    Dictionary,
    DictionaryNotFoundError,
    DictionaryStore,
    DictionaryStoreError,
    Zstd,
)
from sqlcompress.codec import unframer
from sqlcompress.known import Known
from tests.values import DICTIONARY, OTHER_DICTIONARY, trained

NOT_TRAINED = "not a trained zstd dictionary"
BAD = [
    (("", DICTIONARY.content), ValueError, "name cannot be empty"),
    ((None, DICTIONARY.content), TypeError, "name is a str, not NoneType"),
    ((b"name", DICTIONARY.content), TypeError, "name is a str, not bytes"),
    (("name", "content"), TypeError, "content is bytes, not str"),
    (("name", None), TypeError, "content is bytes, not NoneType"),
    (("name", DICTIONARY.raw()), TypeError, "content is bytes, not ZstdCompressionDict"),
    (("name", b""), ValueError, NOT_TRAINED),
    (("name", b"raw content " * 100), ValueError, NOT_TRAINED),
    (("name", b"\x37\xa4\x30\xec"), ValueError, NOT_TRAINED),
    (("name", b"\x37\xa4\x30\xec" + b"a" * 500), ValueError, NOT_TRAINED),
    (("name", DICTIONARY.content[:100]), ValueError, NOT_TRAINED),
    (("name", DICTIONARY.content[1:]), ValueError, NOT_TRAINED),
]


@pytest.mark.parametrize(("arguments", "kind", "message"), BAD)
def test_what_is_no_dictionary_is_refused(arguments, kind, message):
    with pytest.raises(kind, match=message) as caught:
        Dictionary(*arguments)
    assert type(caught.value) is kind


def test_the_id_follows_from_the_content():
    content = trained(0)
    assert Dictionary("one", content).id == Dictionary("two", content).id == DICTIONARY.id
    assert OTHER_DICTIONARY.id != DICTIONARY.id
    for dictionary in (DICTIONARY, OTHER_DICTIONARY):
        assert 32768 <= dictionary.id < 2**31
        assert dictionary.raw().dict_id() == dictionary.id


def test_the_id_that_zstd_gave_it_does_not_matter():
    content = trained(0)
    renumbered = content[:4] + (4711).to_bytes(4, "little") + content[8:]
    assert Dictionary("documents", renumbered) == DICTIONARY
    assert Dictionary("documents", DICTIONARY.content) == DICTIONARY


def test_the_id_is_the_same_in_every_process():
    # Derived once and written down: a change would orphan every stored value.
    content = bytes.fromhex("37a430ec") + trained(0)[4:]
    assert Dictionary("documents", content).id == DICTIONARY.id
    import hashlib

    digest = hashlib.sha256(content[:4] + bytes(4) + content[8:]).digest()
    assert DICTIONARY.id == 32768 + int.from_bytes(digest[:8], "big") % (2**31 - 32768)


def test_dictionaries_are_values():
    for again in (
        pickle.loads(pickle.dumps(DICTIONARY)),
        copy.deepcopy(DICTIONARY),
        Dictionary("documents", bytearray(DICTIONARY.content)),
        Dictionary("documents", memoryview(DICTIONARY.content)),
    ):
        assert again == DICTIONARY
        assert hash(again) == hash(DICTIONARY)
        assert again.id == DICTIONARY.id
        assert type(again.content) is bytes
    assert Dictionary("another name", DICTIONARY.content) != DICTIONARY
    with pytest.raises(AttributeError):
        DICTIONARY.name = "other"


def test_a_repr_leaves_the_content_out():
    assert repr(DICTIONARY) == f"<Dictionary 'documents' id={DICTIONARY.id} {len(DICTIONARY.content)} bytes>"


def test_a_file_holds_the_content(tmp_path):
    path = tmp_path / "events.zdict"
    DICTIONARY.to_file(path)
    assert path.read_bytes() == DICTIONARY.content
    assert Dictionary.from_file(path) == Dictionary("events", DICTIONARY.content)
    assert Dictionary.from_file(str(path), "documents") == DICTIONARY


def test_a_file_that_cannot_be_used_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"missing\.zdict"):
        Dictionary.from_file(tmp_path / "missing.zdict")
    path = tmp_path / "raw.zdict"
    path.write_bytes(b"not a dictionary")
    with pytest.raises(ValueError, match=r"raw\.zdict: the content is not a trained"):
        Dictionary.from_file(path)
    with pytest.raises(IsADirectoryError):
        Dictionary.from_file(tmp_path)


def test_only_the_dictionary_a_value_was_written_with_reads_it():
    plain = b'{"id": 5, "kind": "click", "message": "the quick brown fox jumps over the lazy dog "}'
    ours = CompressedText(Zstd(dictionary=DICTIONARY), 0)
    stored = ours.to_stored(plain)
    assert zstandard.get_frame_parameters(stored).dict_id == DICTIONARY.id
    assert ours.from_stored(stored) == plain
    for other in (
        CompressedText(),
        CompressedText("zlib"),
        CompressedText(Zstd(dictionary=OTHER_DICTIONARY)),
    ):
        with pytest.raises(DictionaryNotFoundError, match=str(DICTIONARY.id)) as caught:
            other.from_stored(stored)
        assert caught.value.dictionary_id == DICTIONARY.id
        again = pickle.loads(pickle.dumps(caught.value))
        assert (str(again), again.dictionary_id) == (str(caught.value), DICTIONARY.id)


def test_a_column_with_a_dictionary_reads_what_was_written_without():
    plain = b"the quick brown fox jumps over the lazy dog " * 3
    for codec in ("zstd", "zlib", "gzip"):
        stored = CompressedText(codec).to_stored(plain)
        assert CompressedText(Zstd(dictionary=DICTIONARY)).from_stored(stored) == plain


def test_under_a_name_that_no_dictionary_has_values_are_framed_without():
    stored = CompressedText(Zstd(dictionary="nobody's")).to_stored(b"a" * 1000)
    assert zstandard.get_frame_parameters(stored).dict_id == 0
    assert CompressedText().from_stored(stored) == b"a" * 1000


def test_a_dictionary_that_comes_after_the_function_was_made():
    """An engine knows none when its columns' functions are made, and an empty mapping is a false one."""
    known = Known()
    unframe = unframer(10_000, known)
    frame = CompressedText(Zstd(dictionary=DICTIONARY)).to_stored(b"a text to be compressed " * 20)
    with pytest.raises(DictionaryNotFoundError):
        unframe(frame)
    known.ask = {DICTIONARY.id: DICTIONARY}.get
    assert unframe(frame) == b"a text to be compressed " * 20


def test_a_store_needs_a_database_that_keeps_dictionaries():
    pool = sqlalchemy.NullPool(lambda: None)
    engine = sqlalchemy.Engine(pool, mssql.dialect(), sqlalchemy.make_url("mssql://"))
    with pytest.raises(DictionaryStoreError, match="not on mssql; give the column a Dictionary from a file"):
        DictionaryStore(engine)
    with pytest.raises(TypeError, match="takes an Engine or Connection, not str"):
        DictionaryStore("sqlite://")
