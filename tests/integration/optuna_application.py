"""What a user of Optuna would have: the program that records trials, and the same with compressed columns.

Optuna was not written for this project. It keeps JSON documents in five TEXT columns that it declares with
SQLAlchemy, makes its schema with revisions of its own and writes with upserts; it needs little besides NumPy
and runs on SQLite, PostgreSQL and MySQL.

Run as ``python -m tests.integration.optuna_application STEP URL FOLDER``, each step in a process of its own:
the types of a mapped table cannot change once they have been used.
"""

from __future__ import annotations

import io
import json
import random
import sys
from pathlib import Path

import optuna
from alembic import command
from alembic.config import Config
from optuna.storages import RDBStorage
from optuna.storages._rdb import models

TRIALS = 60
STUDY = "tuning"


# The application -----------------------------------------------------------------------------------


def document(number: int) -> dict[str, object]:
    dice = random.Random(number)
    return {
        "layers": [
            {"units": dice.randrange(1000), "activation": "relu", "rate": dice.random()} for _ in range(8)
        ],
        "note": "Größe 日本 \U0001f600 100% 'quoted' \\ :name " * dice.randrange(1, 6),
        "exact": 2**53 + number,
        "tiny": 5e-324,
        "nothing": None,
        "escapes": '\u2028 " \t \x7f',
    }


def record(study: optuna.Study, numbers: range) -> None:
    """Trials as an objective would make them, with attributes written, replaced and added."""
    for number in numbers:
        dice = random.Random(number)
        trial = study.ask(
            {
                "rate": optuna.distributions.FloatDistribution(1e-5, 1.0, log=True),
                "kind": optuna.distributions.CategoricalDistribution(
                    [f"kind {i}" for i in range(20)] + [None, True]
                ),
                "depth": optuna.distributions.IntDistribution(1, 64),
            }
        )
        trial.set_user_attr("plan", document(number))
        trial.set_user_attr("short", "ok")
        trial.set_user_attr("empty", [None, "", {}, []][number % 4])
        # The same key again goes through the upsert of the database.
        trial.set_user_attr("short", [number, "replaced"])
        trial.storage.set_trial_system_attr(trial._trial_id, "host", document(number + 10_000))
        trial.report(dice.random(), step=0)
        if number % 10 == 9:
            study.tell(trial, state=optuna.trial.TrialState.FAIL)
        else:
            study.tell(trial, dice.random())


def application(url: str) -> optuna.Study:
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    return optuna.create_study(
        storage=RDBStorage(url),
        study_name=STUDY,
        load_if_exists=True,
        sampler=optuna.samplers.RandomSampler(seed=7),
    )


def everything(url: str) -> dict[str, object]:
    """All that the application knows, read by a storage that has cached nothing."""
    study = application(url)
    return {
        "user": study.user_attrs,
        "system": study._storage.get_study_system_attrs(study._study_id),
        "trials": [
            {
                "number": trial.number,
                "state": trial.state.name,
                "values": trial.values,
                "params": trial.params,
                "distributions": {name: repr(d) for name, d in trial.distributions.items()},
                "user": trial.user_attrs,
                "system": trial.system_attrs,
                "intermediate": trial.intermediate_values,
                "times": [str(trial.datetime_start), str(trial.datetime_complete)],
            }
            for trial in study.get_trials()
        ],
    }


# Its columns, compressed ---------------------------------------------------------------------------


def compress_columns() -> None:
    """What a user adds to the program, and imports in env.py."""
    from sqlcompress import CompressedText

    for table in models.BaseModel.metadata.tables.values():
        for column in table.columns:
            if column.name.endswith("_json"):
                column.type = CompressedText()


ENV = """
def include_name(name, type_, parent_names):
    return name != "alembic_version"  # Optuna's own revisions


def compare_type(context, column, model_column, type_, model_type):
    # MySQL calls Float(53) DOUBLE, which Alembic takes for a change each time, compressed columns or none.
    return False if type(model_type).__name__ == "Float" else None

"""


def environment(url: str, folder: Path) -> Config:
    """What ``alembic init`` writes, beside the application's own revisions in the same database."""
    made = Config(stdout=io.StringIO())
    made.set_main_option("script_location", str(folder / "environment"))
    made.set_main_option("path_separator", "os")
    made.set_main_option("sqlalchemy.url", url.replace("%", "%%"))
    if not (folder / "environment").exists():
        made.config_file_name = str(folder / "alembic.ini")
        command.init(made, str(folder / "environment"))
        made.config_file_name = None
        env = folder / "environment" / "env.py"
        stock = env.read_text(encoding="utf-8")
        given = "connection=connection, target_metadata=target_metadata"
        text = stock.replace("= None", '= config.attributes["metadata"]', 1)
        options = 'version_table="compression_version", include_name=include_name, compare_type=compare_type'
        text = text.replace(given, f"{given}, {options}")
        assert text.count("compression_version") == 1
        env.write_text(ENV + text, encoding="utf-8")
    made.attributes["metadata"] = models.BaseModel.metadata
    return made


# Steps ---------------------------------------------------------------------------------------------


def fill(url: str, folder: Path) -> dict[str, object]:
    study = application(url)
    study.set_user_attr("purpose", document(-1))
    study.set_user_attr("purpose", document(-2))
    study._storage.set_study_system_attr(study._study_id, "grid", [document(-3)])
    record(study, range(TRIALS))
    return everything(url)


def read(url: str, folder: Path) -> dict[str, object]:
    return everything(url)


def compress(url: str, folder: Path) -> dict[str, object]:
    """Autogenerate, upgrade, read, write as the application does, read again."""
    compress_columns()
    settings = environment(url, folder)
    script = command.revision(settings, autogenerate=True)
    command.upgrade(settings, "head")
    command.check(settings)
    before = everything(url)
    study = application(url)
    study.set_user_attr("purpose", document(-4))
    record(study, range(TRIALS, TRIALS + 10))
    after = everything(url)
    return {"script": Path(script.path).read_text(encoding="utf-8"), "before": before, "after": after}


def go_down(url: str, folder: Path) -> dict[str, object]:
    compress_columns()
    command.downgrade(environment(url, folder), "base")
    return {}


def go_up(url: str, folder: Path) -> dict[str, object]:
    compress_columns()
    command.upgrade(environment(url, folder), "head")
    command.check(environment(url, folder))
    return everything(url)


if __name__ == "__main__":
    _, step, url, folder = sys.argv
    print(json.dumps(globals()[step](url, Path(folder)), default=str))
