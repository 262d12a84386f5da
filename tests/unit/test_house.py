"""The rules of the house, checked: who imports whom, what no file names, what has a docstring."""

from __future__ import annotations

import ast
import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest

import sqlcompress

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "sqlcompress"

#: Imports run downward: a module imports from its own floor and from those below it, never from above.
FLOORS = {
    "errors": 0,
    "dictionaries": 1,
    "frames": 1,
    "codec": 2,
    "legacy": 3,
    "many": 3,
    "stored": 4,
    "known": 3,
    "training": 4,
    "dialects": 5,
    "following": 5,
    "companions": 5,
    "plain": 5,
    "comparator": 6,
    "placement": 6,
    "compressed": 7,
    "types": 8,
    "opening": 8,
    "keeping": 8,
    "moves": 8,
    "sql": 9,
    "guard": 9,
    "functions": 7,
    "wire": 9,
    "entries": 6,
    "store": 6,
    "loading": 7,
    "engine": 9,
    "": 10,  # the package itself, which gathers the public names
    "jobs": 10,
    "alembic": 11,
    "demo": 12,
    "report": 12,
    "bench": 13,
    "cli": 14,
}
#: Floors up to here know nothing of databases.
VALUES = 4

#: Packages that one part of ours alone may import, at the top of a module or anywhere in it.
HOMES = {
    "alembic": "alembic",
    "click": "cli",
    "rich": "cli",
    "matplotlib": "bench",
    "pyperf": "bench",
    "psutil": "bench",
}

IMPORT_ALL = """
import sys, types
root, blocked, modules = sys.argv[1], sys.argv[2].split(","), sys.argv[3].split(",")
sys.modules.update(dict.fromkeys(blocked))
if "sqlcompress" not in modules:
    # The package's own __init__ gathers names from above; modules below it are to be had without.
    package = types.ModuleType("sqlcompress")
    package.__path__ = [root]
    sys.modules["sqlcompress"] = package
import importlib
for name in modules:
    importlib.import_module(name)
"""


def python_files() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


def module_of(file: Path) -> str:
    parts = file.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def part_of(module: str) -> str:
    """The part of the house a module is in: "codec", "jobs", or "" for the package itself."""
    return [*module.split("."), ""][1]


def imports_of(file: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {name.name for name in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file}: a relative import"
            assert node.module is not None
            found.add(node.module)
            if node.module == "sqlcompress":  # a module of ours, or a public name
                found |= {f"sqlcompress.{name.name}" for name in node.names if name.name in FLOORS}
                found -= {"sqlcompress"} if all(name.name in FLOORS for name in node.names) else set()
    return found


def files_of_the_repository() -> list[Path]:
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if listed.returncode != 0:
        pytest.skip("not a git checkout: which files belong to the repository is not known")
    return [file for name in listed.stdout.split("\0") if name and (file := ROOT / name).is_file()]


@pytest.mark.parametrize("file", python_files(), ids=module_of)
def test_imports_run_downward(file):
    part = part_of(module_of(file))
    assert part in FLOORS, f"give {part!r} a floor in FLOORS"
    ours = {name for name in imports_of(file) if name.split(".")[0] == "sqlcompress"}
    upward = sorted(name for name in ours if FLOORS[part_of(name)] > FLOORS[part])
    assert upward == []


@pytest.mark.parametrize("file", python_files(), ids=module_of)
def test_optional_packages_are_imported_in_one_part_only(file):
    part = part_of(module_of(file))
    packages = {name.split(".")[0] for name in imports_of(file)}
    assert sorted(name for name in packages if HOMES.get(name, part) != part) == []
    if 0 <= FLOORS[part] <= VALUES:
        assert "sqlalchemy" not in packages


@pytest.mark.parametrize(
    ("blocked", "parts"),
    [
        ("sqlalchemy,alembic,click,rich", {part for part, floor in FLOORS.items() if floor <= VALUES}),
        ("alembic,click,rich", {part for part, floor in FLOORS.items() if VALUES < floor < FLOORS[""]}),
        ("alembic,click,rich,greenlet", {"", "jobs"}),
        ("click,rich", {"", "alembic", "demo", "report"}),
    ],
    ids=["values", "types", "package", "alembic"],
)
def test_modules_load_without_the_packages_of_higher_floors(blocked, parts):
    modules = [name for file in python_files() if part_of(name := module_of(file)) in parts]
    assert modules
    program = [sys.executable, "-W", "error", "-c", IMPORT_ALL, str(PACKAGE), blocked, ",".join(modules)]
    done = subprocess.run(program, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("file", python_files(), ids=module_of)
def test_what_differs_between_databases_stands_in_dialects(file):
    if part_of(module_of(file)) == "dialects":
        return
    asked = [
        node.lineno
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.Compare)
        and any(ast.unparse(side).endswith("dialect.name") for side in (node.left, *node.comparators))
    ]
    assert asked == []


@pytest.mark.parametrize("file", python_files(), ids=module_of)
def test_a_file_holds_one_idea(file):
    assert len(file.read_text(encoding="utf-8").splitlines()) <= 350


# Written with brackets, so that this file does not name what it looks for.
MACHINE = [
    r"/w[o]rk\b",
    r"/tmp/b[r]ief",
    r"(?<![\w.-])/r[o]ot\b",
    r"\.py[e]nv",
    r"/opt/p[y]pi",
    r"python[h]osted",
]
PAGES = r"\bsh[a]red/"


def test_no_file_names_the_machine_it_was_written_on():
    found = []
    for file in files_of_the_repository():
        try:
            text = file.read_text(encoding="utf-8")
        except UnicodeDecodeError:  # a picture or a stored value
            continue
        name = file.relative_to(ROOT).as_posix()
        # The one place that may know of the database scripts beside the checkout.
        patterns = MACHINE if name == ".ci/run" else [*MACHINE, PAGES]
        found += [f"{name}: {match[0]}" for pattern in patterns for match in re.finditer(pattern, text)]
    assert found == []


@pytest.mark.parametrize("name", sqlcompress.__all__)
def test_public_names_have_a_docstring(name):
    public = getattr(sqlcompress, name)
    assert public.__module__ == "sqlcompress"
    documented = vars(public).get("__doc__") if inspect.isclass(public) else public.__doc__
    assert documented
    assert documented.strip().splitlines()[0].endswith((".", ":"))
