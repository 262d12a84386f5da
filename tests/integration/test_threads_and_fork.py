"""Types shared between threads and processes: never a byte of another's value."""

from __future__ import annotations

import json
import multiprocessing
import os
import pickle
import random
import threading
import traceback
from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import Column, Integer, MetaData, Table, insert, select
from sqlalchemy.engine.default import DefaultDialect

from sqlcompress import CompressedBinary, CompressedJSON, CompressedText, Gzip, Zlib, Zstd
from sqlcompress.codec import KEPT_CONTEXT_BYTES
from tests.values import DICTIONARY, document

THREADS = 32
DIALECT = DefaultDialect()
TYPES = (
    CompressedText(Zstd(1), 0),
    CompressedText(Zstd(3, DICTIONARY), 0),
    CompressedText(Zstd(checksum=False), 0),
    CompressedText(Zlib(1), 0, legacy=("mysql", "zlib", "base64")),
    CompressedText(Gzip(1), 0),
)
#: Sizes on both sides of where a thread's kept context ends, and many small ones, which take turns fastest.
SIZES = (
    0,
    1,
    40,
    900,
    900,
    900,
    5_000,
    70_000,
    KEPT_CONTEXT_BYTES - 1,
    KEPT_CONTEXT_BYTES,
    KEPT_CONTEXT_BYTES + 1,
)


def value_of(dice):
    size = dice.choice(SIZES)
    chunk = json.dumps(document(dice.randrange(1000)))[: max(1, size)]
    return (chunk * (size // len(chunk) + 1))[:size]


def wrong_round_trips(seed, rounds, types=TYPES):
    """How many values did not come back."""
    dice = random.Random(seed)
    wrong = 0
    for _ in range(rounds):
        value = value_of(dice)
        kind = dice.choice(types)
        stored = kind.process_bind_param(value, DIALECT)
        wrong += kind.process_result_value(stored, DIALECT) != value
        # What another codec's context of this thread made is read by this one's too.
        other = dice.choice(types[:1] + types[2:])
        wrong += types[1].process_result_value(other.process_bind_param(value, DIALECT), DIALECT) != value
    return wrong


def exit_code_of(child):
    """Runs a function in a forked child; gives 0 where it returned 0."""
    process = os.fork()
    if process == 0:
        code = 99
        try:
            code = min(98, child())
        except BaseException:  # noqa: BLE001 - a forked child must not run the tests on
            traceback.print_exc()
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])


def test_32_threads_share_types():
    barrier = threading.Barrier(THREADS)

    def work(seed):
        barrier.wait()
        return wrong_round_trips(seed, 60)

    with ThreadPoolExecutor(THREADS) as pool:
        assert sum(pool.map(work, range(THREADS))) == 0


def test_types_that_no_thread_has_used_before_are_made_once_for_all():
    # The first use makes contexts, processors and dictionaries; 32 threads meet there.
    for level in range(1, 9):
        types = (
            CompressedText(Zstd(level + 9), 0),
            CompressedText(Zstd(level + 9, DICTIONARY), 0),
            CompressedText(Zlib(level), 0),
        )
        barrier = threading.Barrier(THREADS)

        def work(seed, types=types, barrier=barrier):
            dice = random.Random(seed)
            values = [json.dumps(document(dice.randrange(1000))) for _ in range(3)]
            barrier.wait()
            return [
                kind.process_result_value(kind.process_bind_param(value, DIALECT), DIALECT) == value
                for kind in types
                for value in values
            ]

        with ThreadPoolExecutor(THREADS) as pool:
            assert all(all(results) for results in pool.map(work, range(THREADS)))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")  # forking beside threads is what is tested
def test_forks_while_threads_compress():
    stop = threading.Event()
    started = threading.Barrier(9)
    wrong = []

    def work(seed):
        started.wait()
        while not stop.is_set():
            wrong.append(wrong_round_trips(seed, 3))

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    started.wait()
    try:
        # The forking thread has contexts too, which the child must not go on with.
        assert wrong_round_trips(1, 20) == 0
        codes = [exit_code_of(lambda seed=seed: wrong_round_trips(seed, 15)) for seed in range(12)]

        def threads_of_a_child():
            with ThreadPoolExecutor(4) as pool:
                return sum(pool.map(lambda seed: wrong_round_trips(seed, 10), range(4)))

        codes.append(exit_code_of(threads_of_a_child))
        codes.append(exit_code_of(lambda: exit_code_of(lambda: wrong_round_trips(5, 10))))
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert codes == [0] * 14
    assert sum(wrong) == 0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_parent_and_children_go_on_side_by_side():
    assert wrong_round_trips(0, 10) == 0
    process = os.fork()
    if process == 0:
        os._exit(min(98, wrong_round_trips(1, 60)))
    assert wrong_round_trips(2, 60) == 0
    assert os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) == 0


def in_a_process(pickled, seed, answers):
    types = pickle.loads(pickled)
    answers.put(wrong_round_trips(seed, 20, types))


@pytest.mark.parametrize("method", multiprocessing.get_all_start_methods())
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_pickled_types_in_processes_of_each_kind(method):
    context = multiprocessing.get_context(method)
    assert wrong_round_trips(3, 5) == 0  # so that there are processors and contexts that must not travel
    pickled = pickle.dumps(TYPES)
    answers = context.SimpleQueue()
    processes = [context.Process(target=in_a_process, args=(pickled, seed, answers)) for seed in range(3)]
    for process in processes:
        process.start()
    found = [answers.get() for _ in processes]
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0, 0, 0]
    assert found == [0, 0, 0]


def test_32_threads_on_one_engine(engine):
    table = Table(
        "item",
        MetaData(),
        Column("id", Integer, primary_key=True, autoincrement=False),
        Column("body", CompressedText(Zstd(dictionary=DICTIONARY))),
        Column("meta", CompressedJSON("zlib")),
        Column("data", CompressedBinary("gzip")),
    )
    table.create(engine)
    writing = threading.Lock()  # SQLite has one writer at a time; what is encoded is encoded before

    def work(number):
        meta = document(number)
        row = {
            "id": number,
            "body": json.dumps(meta) * (number % 5),
            "meta": meta,
            "data": repr(meta).encode(),
        }
        with writing, engine.begin() as connection:
            connection.execute(insert(table), row)
        with engine.connect() as connection:
            return connection.execute(select(table).where(table.c.id == number)).one()._asdict() == row

    with ThreadPoolExecutor(THREADS) as pool:
        assert all(pool.map(work, range(160)))
