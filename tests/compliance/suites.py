"""SQLAlchemy's own tests, each class with the types that ours stand in for.

Left out of ``sqlalchemy.testing.suite`` is what has no such type, is about the schema alone (DDL,
reflection, CREATE TABLE AS), or wraps String in a TypeDecorator, on which operators are refused.
"""

from __future__ import annotations

import sqlalchemy as sa
from sqlalchemy.testing import suite

from tests.compliance.modes import in_place_of


class TextTest(suite.TextTest):
    replaced = ("Text",)


class UnicodeTextTest(suite.UnicodeTextTest):
    datatype = in_place_of(sa.UnicodeText)()


class UnicodeVarcharTest(suite.UnicodeVarcharTest):
    datatype = in_place_of(sa.Unicode)(255)


class StringTest(suite.StringTest):
    replaced = ("String",)


class BinaryTest(suite.BinaryTest):
    replaced = ("LargeBinary", "PickleType")


class JSONTest(suite.JSONTest):
    datatype = in_place_of(sa.JSON)


class JSONLegacyStringCastIndexTest(suite.JSONLegacyStringCastIndexTest):
    datatype = in_place_of(sa.JSON)


# What the suites about statements do with a text; there it is a String(50) or so.


class CollateTest(suite.CollateTest):
    replaced = ("String",)


class CTETest(suite.CTETest):
    replaced = ("String",)


class DifficultParametersTest(suite.DifficultParametersTest):
    replaced = ("String",)


class ExistsTest(suite.ExistsTest):
    replaced = ("String",)


class ExpandingBoundInTest(suite.ExpandingBoundInTest):
    replaced = ("String",)


class IdentityAutoincrementTest(suite.IdentityAutoincrementTest):
    replaced = ("String",)


class InsertBehaviorTest(suite.InsertBehaviorTest):
    replaced = ("String",)


class LastrowidTest(suite.LastrowidTest):
    replaced = ("String",)


class LikeFunctionsTest(suite.LikeFunctionsTest):
    replaced = ("String",)


class OrderByLabelTest(suite.OrderByLabelTest):
    replaced = ("String",)


class PostCompileParamsTest(suite.PostCompileParamsTest):
    replaced = ("String",)


class ReturningTest(suite.ReturningTest):
    replaced = ("String",)


class RowCountTest(suite.RowCountTest):
    replaced = ("String",)


class RowFetchTest(suite.RowFetchTest):
    replaced = ("String",)


class ServerSideCursorsTest(suite.ServerSideCursorsTest):
    replaced = ("String",)


class SimpleUpdateDeleteTest(suite.SimpleUpdateDeleteTest):
    replaced = ("String",)
