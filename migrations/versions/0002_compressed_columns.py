"""Compressed columns: the two large ones

Revision ID: sqlcompress_demo_0002
Revises: sqlcompress_demo_0001
Create Date: 2026-11-30 12:00:00.000000

"""
from typing import Sequence, Union

from alembic import op
import sqlalchemy as sa
from sqlalchemy.dialects import mysql
from sqlcompress import CompressedJSON, CompressedText


# revision identifiers, used by Alembic.
revision: str = "sqlcompress_demo_0002"
down_revision: Union[str, Sequence[str], None] = "sqlcompress_demo_0001"
branch_labels: Union[str, Sequence[str], None] = None
depends_on: Union[str, Sequence[str], None] = None


def upgrade() -> None:
    """Upgrade schema."""
    op.compress_column(
        "sqlcompress_demo_article",
        "body",
        type_=CompressedText(),
        existing_type=sa.Text().with_variant(mysql.LONGTEXT(), "mysql", "mariadb"),
        existing_nullable=False,
    )
    op.compress_column(
        "sqlcompress_demo_symbol",
        "meta",
        type_=CompressedJSON(),
        existing_type=sa.JSON(),
        existing_nullable=False,
    )


def downgrade() -> None:
    """Downgrade schema."""
    op.decompress_column(
        "sqlcompress_demo_symbol",
        "meta",
        type_=sa.JSON(),
        existing_type=CompressedJSON(),
        existing_nullable=False,
    )
    op.decompress_column(
        "sqlcompress_demo_article",
        "body",
        type_=sa.Text().with_variant(mysql.LONGTEXT(), "mysql", "mariadb"),
        existing_type=CompressedText(),
        existing_nullable=False,
    )
