"""Real text that every Python carries: the standard library, as sources and as JSON documents.

How 20 MB are reached. A Python without its test packages, as Debian and the container images ship it, has
about 10 MB of modules (9.3 MB in Python 3.13, more in those before), and ``pydoc_data.topics`` adds 0.7 MB.
Each module, class and function also gives one JSON document of the kind a documentation or code search
index keeps: names, signatures, docstrings, imports, calls, and for a function its own source. That makes some
16,000 documents of 13 MB. Nothing is repeated to fill up or made up: a row is a file, a topic or a definition
that is there. Packages a distribution may leave out (``test``, ``idlelib`` and the like) and everything
installed beside the library are not read, so that one version of Python gives nearly the same rows on every
machine, in the same order.
"""

from __future__ import annotations

import ast
import json
import os
import sysconfig
import tokenize
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from sqlcompress.errors import SqlcompressError

#: Folders that are tests, third-party code, or packages a distribution may install apart.
SKIPPED_FOLDERS = frozenset(
    {
        "__pycache__",
        "dist-packages",
        "ensurepip",
        "idlelib",
        "idle_test",
        "lib-dynload",
        "site-packages",
        "test",
        "tests",
        "tkinter",
        "turtledemo",
    }
)


@dataclass(frozen=True)
class ArticleRow:
    """A text: one module's source, or one topic of Python's own help.

    Attributes:
        name: The module's dotted name or the topic's title; unique within a kind.
        kind: ``"module"`` or ``"topic"``.
        body: The text.
    """

    name: str
    kind: str
    body: str


@dataclass(frozen=True)
class SymbolRow:
    """A JSON document about one module, class or function.

    Attributes:
        name: The dotted name, the module's first.
        kind: ``"module"``, ``"class"`` or ``"function"``.
        line: The line where the definition begins, counted from 1; tells definitions of one name apart.
        meta: What the source says about it, as ``json.dumps`` takes it.
    """

    name: str
    kind: str
    line: int
    meta: dict[str, Any]


@dataclass(frozen=True)
class Corpus:
    """The rows of the demonstration, in the order they are inserted.

    Attributes:
        articles: The texts.
        symbols: The JSON documents.
        plain_bytes: Bytes of all texts and documents, as UTF-8 and as ``json.dumps`` writes them.
    """

    articles: tuple[ArticleRow, ...]
    symbols: tuple[SymbolRow, ...]
    plain_bytes: int


def standard_library() -> Path:
    """The folder of this Python's library modules.

    Raises:
        SqlcompressError: This Python carries no sources (an embedded one, say).
    """
    folder = Path(sysconfig.get_path("stdlib"))
    if not (folder / "ast.py").is_file():
        raise SqlcompressError(
            "This Python carries no sources of its standard library, which the demonstration loads as its "
            "data; run it with a Python from python.org or a Linux distribution."
        )
    return folder


def build(max_bytes: int | None = None, folder: Path | None = None) -> Corpus:
    """Every module and topic as text, every module, class and function as a JSON document.

    Args:
        max_bytes: Stop after the module or topic that reaches this size; None for all there is.
        folder: Where the modules are; the running Python's standard library by default.

    Raises:
        SqlcompressError: This Python carries no sources.
    """
    articles: list[ArticleRow] = []
    symbols: list[SymbolRow] = []
    plain_bytes = 0
    for article in chain(_modules(folder or standard_library()), _topics()):
        if max_bytes is not None and plain_bytes >= max_bytes:
            break
        found = tuple(_symbols(article.name, article.body)) if article.kind == "module" else ()
        articles.append(article)
        symbols.extend(found)
        plain_bytes += len(article.body.encode())
        plain_bytes += sum(len(json.dumps(symbol.meta)) for symbol in found)
    return Corpus(tuple(articles), tuple(symbols), plain_bytes)


def _modules(folder: Path) -> Iterator[ArticleRow]:
    for name, path in sorted(_files(folder)):
        source = _text(path)
        if source is not None:
            yield ArticleRow(name, "module", source)


def _files(folder: Path) -> Iterator[tuple[str, Path]]:
    for parent, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if name not in SKIPPED_FOLDERS]
        for path in (Path(parent, file) for file in files if file.endswith(".py")):
            parts = path.relative_to(folder).with_suffix("").parts
            # The topics come as rows of their own.
            if parts != ("pydoc_data", "topics"):
                yield ".".join(parts[:-1] if parts[-1] == "__init__" else parts), path


def _text(path: Path) -> str | None:
    """The module's text, decoded as Python itself would; None where it is empty or no text."""
    try:
        with tokenize.open(path) as lines:
            text = lines.read()
    except (OSError, SyntaxError, UnicodeDecodeError):
        return None
    # PostgreSQL's TEXT has no NUL characters.
    return text if text and "\0" not in text else None


def _topics() -> Iterator[ArticleRow]:
    try:
        from pydoc_data.topics import topics  # noqa: PLC0415 - a minimal Python may lack it
    except ImportError:
        return
    for title in sorted(topics):
        yield ArticleRow(title, "topic", topics[title])


def _symbols(module: str, source: str) -> Iterator[SymbolRow]:
    try:
        with warnings.catch_warnings():
            # Invalid escapes in old modules are none of the reader's business.
            warnings.simplefilter("ignore")
            tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError):
        return
    # Not str.splitlines: it also breaks at form feeds, which the line numbers do not count.
    lines = source.split("\n")
    yield SymbolRow(module, "module", 1, _module_document(module, tree, len(lines)))
    yield from _definitions(module, module, tree, lines)


def _definitions(module: str, outer: str, body: ast.AST, lines: list[str]) -> Iterator[SymbolRow]:
    for node in ast.iter_child_nodes(body):
        if isinstance(node, ast.ClassDef):
            name = f"{outer}.{node.name}"
            yield SymbolRow(name, "class", node.lineno, _class_document(module, name, node))
            yield from _definitions(module, name, node, lines)
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            name = f"{outer}.{node.name}"
            yield SymbolRow(name, "function", node.lineno, _function_document(module, name, node, lines))
        elif isinstance(node, (ast.If, ast.Try, ast.With)):
            yield from _definitions(module, outer, node, lines)


def _module_document(module: str, tree: ast.Module, line_count: int) -> dict[str, Any]:
    imports = [
        alias.name if isinstance(node, ast.Import) else f"{'.' * node.level}{node.module or ''}:{alias.name}"
        for node in _statements(tree)
        if isinstance(node, (ast.Import, ast.ImportFrom))
        for alias in node.names
    ]
    return {
        "module": module,
        "doc": _docstring(tree),
        "lines": line_count,
        "imports": imports,
        "classes": [node.name for node in tree.body if isinstance(node, ast.ClassDef)],
        "functions": [
            node.name for node in tree.body if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
        ],
    }


def _class_document(module: str, name: str, node: ast.ClassDef) -> dict[str, Any]:
    return {
        "module": module,
        "name": name,
        "doc": _docstring(node),
        "lines": [node.lineno, node.end_lineno],
        "bases": [ast.unparse(base) for base in node.bases],
        "decorators": [ast.unparse(decorator) for decorator in node.decorator_list],
        "members": [
            {"name": member.name, "doc": (_docstring(member) or "").partition("\n")[0]}
            for member in node.body
            if isinstance(member, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef))
        ],
    }


def _function_document(
    module: str, name: str, node: ast.FunctionDef | ast.AsyncFunctionDef, lines: list[str]
) -> dict[str, Any]:
    arguments = node.args
    return {
        "module": module,
        "name": name,
        "doc": _docstring(node),
        "lines": [node.lineno, node.end_lineno],
        "is_async": isinstance(node, ast.AsyncFunctionDef),
        "arguments": [
            {"name": argument.arg, "annotation": argument.annotation and ast.unparse(argument.annotation)}
            for argument in (
                *arguments.posonlyargs,
                *arguments.args,
                *([arguments.vararg] if arguments.vararg else []),
                *arguments.kwonlyargs,
                *([arguments.kwarg] if arguments.kwarg else []),
            )
        ],
        "returns": node.returns and ast.unparse(node.returns),
        "decorators": [ast.unparse(decorator) for decorator in node.decorator_list],
        "calls": sorted({_dotted(call.func) for call in _nodes(node) if isinstance(call, ast.Call)}),
        "source": "\n".join(lines[node.lineno - 1 : node.end_lineno]),
    }


def _statements(tree: ast.Module) -> Iterator[ast.AST]:
    left: list[ast.AST] = [tree]
    while left:
        node = left.pop()
        yield node
        for field in ("body", "orelse", "finalbody", "handlers", "cases"):
            below = getattr(node, field, None)
            if isinstance(below, list):
                left.extend(reversed(below))


def _nodes(root: ast.AST) -> Iterator[ast.AST]:
    """As ``ast.walk``, in another order and in half the time: the build is mostly this."""
    left: list[ast.AST] = [root]
    while left:
        node = left.pop()
        yield node
        for field in node._fields:
            below = getattr(node, field, None)
            if isinstance(below, list):
                left.extend(item for item in below if isinstance(item, ast.AST))
            elif isinstance(below, ast.AST):
                left.append(below)


def _dotted(node: ast.expr) -> str:
    """``a.b.c`` for what is called; ``ast.unparse`` would take half the time of the whole build."""
    names: list[str] = []
    while isinstance(node, ast.Attribute):
        names.append(node.attr)
        node = node.value
    names.append(node.id if isinstance(node, ast.Name) else "(...)")
    return ".".join(reversed(names))


def _docstring(node: ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) -> str | None:
    text = ast.get_docstring(node)
    # A docstring may spell NUL and lone surrogates, which not every database keeps in a JSON column.
    if text is None or "\0" in text or any("\ud800" <= char <= "\udfff" for char in text):
        return None
    return text
