"""Every row equals the journal, whatever is killed and whoever writes; the long form by an option.

``SQLCOMPRESS_TORTURE_ROUNDS=20`` repeats each case with other seeds and three times the rows;
``SQLCOMPRESS_TORTURE_SEED`` repeats one that failed.
"""

from __future__ import annotations

import os
import random

import pytest

from tests.torture.story import Size, Story

ROUNDS = int(os.environ.get("SQLCOMPRESS_TORTURE_ROUNDS", "1"))


CASES = [(kind, strategy) for kind in ("text", "json", "binary") for strategy in ("rewrite", "shadow")]
# Short runs leave out what differs least from another case.
SHORT = [("text", "rewrite"), ("text", "shadow"), ("json", "shadow"), ("binary", "rewrite")]


@pytest.mark.parametrize(("kind", "strategy"), SHORT if ROUNDS == 1 else CASES)
def test_writers_and_kills(engine, database, tmp_path, kind, strategy):
    for number in range(ROUNDS):
        seed = int(os.environ.get("SQLCOMPRESS_TORTURE_SEED", random.randrange(10**9)))
        print(f"seed {seed}")  # to repeat it
        size = Size() if ROUNDS == 1 else Size(rows=3600, kills=15)
        folder = tmp_path / str(number)
        folder.mkdir()
        story = Story(engine, database, folder, kind, strategy, seed, size)
        story.run()
        # How many depends on how busy the machine is: a run that is ready before its kill is none.
        assert story.kills >= 3
        assert story.operations >= 20
        story.drop()
