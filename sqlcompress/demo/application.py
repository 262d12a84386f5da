"""What application code does with the tables: load, insert, read, update, find, and compare every row.

Nothing here knows that a column is compressed; the models say so.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from contextlib import closing
from itertools import islice
from typing import Any

from sqlalchemy import Engine, insert, select
from sqlalchemy.orm import Session

from sqlcompress.demo import models
from sqlcompress.demo.corpus import Corpus
from sqlcompress.demo.models import Article, PlainArticle, PlainSymbol, Symbol
from sqlcompress.demo.reporting import Reporter
from sqlcompress.errors import SqlcompressError

_BATCH_ROWS = 200

ArticleKey = tuple[str, str]
SymbolKey = tuple[str, str, int]


class Originals:
    """What each row has to hold: the corpus, and what the application wrote since."""

    def __init__(self, corpus: Corpus) -> None:
        self.articles: dict[ArticleKey, str] = {(row.name, row.kind): row.body for row in corpus.articles}
        self.symbols: dict[SymbolKey, dict[str, Any]] = {
            (row.name, row.kind, row.line): row.meta for row in corpus.symbols
        }

    @property
    def rows(self) -> int:
        """Rows of both tables."""
        return len(self.articles) + len(self.symbols)


def load(engine: Engine, corpus: Corpus, reporter: Reporter) -> None:
    """Insert all rows through the plain models, a batch a transaction."""
    articles = [{"name": row.name, "kind": row.kind, "body": row.body} for row in corpus.articles]
    symbols = [
        {"name": row.name, "kind": row.kind, "line": row.line, "meta": row.meta} for row in corpus.symbols
    ]
    for model, rows in ((PlainArticle, articles), (PlainSymbol, symbols)):
        _insert(engine, model, rows, reporter)


def _insert(
    engine: Engine, model: type[PlainArticle | PlainSymbol], rows: list[dict[str, Any]], reporter: Reporter
) -> None:
    left = iter(rows)
    done = 0
    while batch := list(islice(left, _BATCH_ROWS)):
        with Session(engine) as session, session.begin():
            session.execute(insert(model), batch)
        done += len(batch)
        reporter.progress(model.__tablename__, done, len(rows))


def use(engine: Engine, originals: Originals, reporter: Reporter) -> None:
    """Insert, read, update and find rows through the compressed models.

    Raises:
        SqlcompressError: Something came back other than it went in.
    """
    own_source = inspect.getsource(models)
    with Session(engine) as session, session.begin():
        session.add(Article(name=models.__name__, kind="module", body=own_source))
        session.add(Symbol(name=models.__name__, kind="module", line=0, meta={"doc": models.__doc__}))
    originals.articles[models.__name__, "module"] = own_source
    originals.symbols[models.__name__, "module", 0] = {"doc": models.__doc__}
    reporter.note(f"inserted {models.__name__}: one text, one JSON document")

    (name, kind), body = next(iter(originals.articles.items()))
    with Session(engine) as session, session.begin():
        article = session.scalars(select(Article).where(Article.name == name, Article.kind == kind)).one()
        _require(article.body == body, f"the text of {name}")
        reporter.note(f"read {name}: {len(article.body):,} characters")
        article.body += "\n# Reviewed.\n"
    originals.articles[name, kind] = body + "\n# Reviewed.\n"

    with Session(engine) as session, session.begin():
        symbol = session.scalars(
            select(Symbol).where(Symbol.name == name, Symbol.kind == "module", Symbol.line == 1)
        ).one()
        symbol.meta = {**symbol.meta, "reviewed": True}
    originals.symbols[name, "module", 1] = {**originals.symbols[name, "module", 1], "reviewed": True}
    reporter.note(f"updated {name}: the text and the document")

    with Session(engine) as session:
        found = session.scalars(select(Symbol).where(Symbol.kind == "class").order_by(Symbol.id)).all()
        errors = [symbol.name for symbol in found if "Exception" in symbol.meta["bases"]]
        expected = sum(
            1
            for (_, kind, _), meta in originals.symbols.items()
            if kind == "class" and "Exception" in meta["bases"]
        )
        _require(len(errors) == expected, "the documents of classes")
        reporter.note(f"found {len(found):,} classes by their kind, {len(errors):,} of them exceptions")


def verify(
    engine: Engine,
    originals: Originals,
    reporter: Reporter,
    article: type[Article | PlainArticle],
    symbol: type[Symbol | PlainSymbol],
) -> int:
    """Compare every row of both tables with its original; give back how many were compared.

    Raises:
        SqlcompressError: A row is missing, came from nowhere, or holds something else.
    """
    with Session(engine) as session:
        _compare(
            session,
            article,
            originals.articles,
            lambda row: ((row.name, row.kind), row.body),
            reporter,
        )
        _compare(
            session,
            symbol,
            originals.symbols,
            lambda row: ((row.name, row.kind, row.line), row.meta),
            reporter,
        )
    return originals.rows


def _compare(
    session: Session,
    model: type[Any],
    originals: dict[Any, Any],
    read: Callable[[Any], tuple[Any, Any]],
    reporter: Reporter,
) -> None:
    missing = set(originals)
    different: list[str] = []
    done = 0
    # Streamed, so that the table does not have to fit in memory, and closed: a cursor that an error leaves
    # open would hold SQLite's lock and keep the clean-up out.
    with closing(session.scalars(select(model).execution_options(yield_per=_BATCH_ROWS))) as rows:
        for batch in rows.partitions():
            for row in batch:
                key, value = read(row)
                if key not in missing or value != originals[key]:
                    different.append(row.name)
                missing.discard(key)
            done += len(batch)
            reporter.progress(model.__tablename__, done, len(originals))
    if different or missing:
        raise SqlcompressError(
            f"{model.__tablename__}: {len(different)} rows differ from their originals, {len(missing)} are "
            f"missing{_examples(different)}."
        )


def _examples(names: Sequence[str]) -> str:
    return f"; the first are {', '.join(names[:3])}" if names else ""


def _require(is_right: bool, what: str) -> None:
    if not is_right:
        raise SqlcompressError(f"The application did not read back what was stored: {what}.")
