"""What SQLAlchemy's tests may ask of a database: everything, where the plain run is the judge of it.

A test that a database cannot pass with SQLAlchemy's own types fails there, and is not asked of ours. So no
list of what each version of each database can do has to be kept, and none can be out of date and leave a
test out.
"""

from __future__ import annotations

from sqlalchemy.testing import exclusions
from sqlalchemy.testing.requirements import SuiteRequirements

#: Those of the suites in use that SQLAlchemy leaves closed until a dialect says otherwise.
_OPENED = (
    "cast_precision_numerics_many_significant_digits",
    "ctes",
    "ctes_with_update_delete",
    "ctes_with_values",
    "dbapi_lastrowid",
    "delete_from",
    "float_or_double_precision_behaves_generically",
    "json_type",
    "legacy_unconditional_json_extract",
    "regexp_match",
    "regexp_replace",
    "tuple_in",
    "update_from",
    "uuid_data_type",
)

_COLLATIONS = {
    "sqlite": "NOCASE",
    "postgresql": "POSIX",
    "mariadb": "utf8mb4_bin",
    "mysql": "utf8mb4_bin",
}


class Requirements(SuiteRequirements):
    """The defaults, and what is left closed there."""

    def get_order_by_collation(self, config):
        return _COLLATIONS[config.db.name]


def _open(requirements: Requirements) -> object:
    return exclusions.open()


for _name in _OPENED:
    setattr(Requirements, _name, property(_open))
