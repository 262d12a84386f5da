"""Training: what pays, what does not, and a clear outcome for every bad sample."""

from __future__ import annotations

import random

import pytest

from sqlcompress import CompressedBinary, Zstd
from sqlcompress.training import MAX_SIZE, _divided, train


def text(i):
    return (
        f"delivery {i * 6151 % 99991:05} by northern parcel service, in transit at {i % 9}, order {i:06};"
        f" delivery {i * 6113 % 99991:05} by northern parcel service, at depot {i % 8}"
    ).encode()


TEXTS = [text(i) for i in range(1500)]
DICE = random.Random(3)


def test_a_dictionary_that_pays_and_what_was_measured_of_it():
    told = []
    training = train("events é", TEXTS, sizes=(1024, 4096), levels=(3, 9), progress=told.append)
    dictionary, chosen = training.dictionary, training.chosen
    assert dictionary.name == "events é"
    assert (training.sample_rows, training.held_out_rows) == (1200, 300)
    sample, held_out = _divided(TEXTS, 0)
    assert not set(sample) & set(held_out)
    assert training.held_out_bytes == sum(map(len, held_out))
    # The figures are those of a column.
    for candidate in training.candidates:
        assert candidate.plain_bytes == training.held_out_bytes
        assert candidate.ratio > candidate.ratio_without
    with_ = CompressedBinary(Zstd(chosen.level, dictionary=dictionary), min_size=0)
    without = CompressedBinary(Zstd(chosen.level), min_size=0)
    assert chosen.stored_bytes == sum(len(with_.to_stored(value)) for value in held_out)
    assert chosen.stored_bytes_without == sum(len(without.to_stored(value)) for value in held_out)
    assert chosen.size == len(dictionary.content)
    assert training.reason.startswith(
        f"{chosen.size:,} bytes at level {chosen.level}: ratio {chosen.ratio:.2f}"
    )
    assert "training 1,024 bytes" in told
    assert "measuring 4,096 bytes at level 9" in told


def test_the_same_sample_gives_the_same_dictionary():
    one, two = (train("x", TEXTS, sizes=(2048,)).dictionary for _ in range(2))
    assert one == two
    assert train("x", TEXTS, sizes=(2048,), seed=1).dictionary != one


def test_a_rival_is_measured_on_the_same_values():
    old = train("x", [value.replace(b"delivery", b"invoice") for value in TEXTS], sizes=(2048,)).dictionary
    training = train("x", TEXTS, sizes=(2048,), rival=old)
    assert training.rival.stored_bytes > training.chosen.stored_bytes
    assert training.rival.plain_bytes == training.chosen.plain_bytes
    assert train("x", TEXTS, sizes=(2048,)).rival is None


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ([], "0 different values are too few to train from: at least 100 are needed"),
        (TEXTS[:3], "3 different values are too few"),
        ([b""] * 5000, "0 different values are too few"),
        ([TEXTS[0]] * 5000, "1 different values are too few"),
        ([b"one huge row " * 2_000_000], "1 different values are too few"),
        ([bytes([i]) for i in range(256)], ""),
        ([DICE.randbytes(400) for _ in range(500)], "no gain: the best stores "),
        ([DICE.randbytes(5) for _ in range(500)], ""),
    ],
    ids=["none", "three", "empty", "identical", "one huge", "single bytes", "random", "short random"],
)
def test_bad_samples_have_a_clear_outcome(values, reason):
    training = train("events", values, sizes=(1024, 4096))
    assert training.dictionary is None
    assert training.chosen is None
    assert training.reason
    assert training.reason.startswith(reason)


def test_one_huge_row_among_others_is_looked_at_in_its_beginning_only():
    huge = DICE.randbytes(30_000_000)
    training = train("events", [*TEXTS, huge], sizes=(2048,), seed=4)
    assert training.dictionary is not None
    # Cut for training, or held out, but never trained from whole.
    assert training.sample_bytes < 2_000_000


def test_further_values_are_trained_from_and_not_measured_on():
    invoices = [value.replace(b"delivery", b"invoice") for value in TEXTS]
    training = train("x", TEXTS, sizes=(4096,), also=[*invoices, *TEXTS])
    _, held_out = _divided(TEXTS, 0)
    assert (training.sample_rows, training.held_out_rows) == (1200 + 1500, 300)
    assert training.held_out_bytes == sum(map(len, held_out))
    alone = train("x", TEXTS, sizes=(4096,)).dictionary
    sizes = []
    for dictionary in (training.dictionary, alone):
        type_ = CompressedBinary(Zstd(dictionary=dictionary))
        sizes.append(sum(len(type_.to_stored(value)) for value in invoices))
    assert sizes[0] < sizes[1]


def test_less_than_the_gain_asked_for_is_none():
    training = train("events", TEXTS, sizes=(2048,), min_gain=0.98)
    assert training.dictionary is None
    assert "and 98% is asked for" in training.reason
    assert len(training.candidates) == 1


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"sizes": (255,)}, "from 256 to 1,048,576 bytes, not 255"),
        ({"sizes": (MAX_SIZE + 1,)}, "not 1,048,577"),
        ({"sizes": ()}, "at least one size and one level"),
        ({"levels": ()}, "at least one size and one level"),
        ({"levels": (0,)}, "levels go from 1 to 22"),
        ({"levels": (23,)}, "levels go from 1 to 22"),
        ({"min_gain": 1.0}, "min_gain is a part"),
        ({"min_gain": -0.1}, "min_gain is a part"),
    ],
)
def test_settings_out_of_bounds(settings, message):
    with pytest.raises(ValueError, match=message):
        train("events", TEXTS, **settings)


def test_a_name_has_to_be_one():
    with pytest.raises(ValueError, match="name cannot be empty"):
        train("", TEXTS)


def test_a_megabyte_is_made_of_what_is_there():
    """A sample that is smaller than the dictionary asked for gives what there is in it."""
    training = train("events", TEXTS, sizes=(MAX_SIZE,))
    assert training.dictionary is None or len(training.dictionary.content) <= MAX_SIZE
    assert training.reason
