"""Prints, as constraints for pip, the lowest version that pyproject.toml allows of each dependency."""

from __future__ import annotations

import sys
from pathlib import Path

# What pip carries: Python 3.10 has no tomllib, and a fresh environment has no packaging.
from pip._vendor.packaging.requirements import Requirement

if sys.version_info >= (3, 11):
    import tomllib
else:
    from pip._vendor import tomli as tomllib

pyproject = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())
project = pyproject["project"]
declared = [
    *project["dependencies"],
    *(line for extra in project["optional-dependencies"].values() for line in extra),
    # Newer applications ask for a newer SQLAlchemy than the lowest that is allowed here.
    *pyproject["dependency-groups"]["applications"],
]
for requirement in map(Requirement, declared):
    if requirement.name != project["name"]:
        lowest = [part.version for part in requirement.specifier if part.operator == ">="]
        print(f"{requirement.name}=={lowest[0]}")
