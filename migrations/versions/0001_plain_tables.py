"""Plain tables: texts and JSON documents as the database's own types

Revision ID: sqlcompress_demo_0001
Revises:
Create Date: 2026-11-30 12:00:00.000000

"""
from typing import Sequence, Union

from alembic import op
import sqlalchemy as sa
from sqlalchemy.dialects import mysql


# revision identifiers, used by Alembic.
revision: str = "sqlcompress_demo_0001"
down_revision: Union[str, Sequence[str], None] = None
branch_labels: Union[str, Sequence[str], None] = None
depends_on: Union[str, Sequence[str], None] = None


def upgrade() -> None:
    """Upgrade schema."""
    op.create_table(
        "sqlcompress_demo_article",
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column("name", sa.String(255), nullable=False, index=True),
        sa.Column("kind", sa.String(20), nullable=False),
        # TEXT ends at 64 KB on MySQL and MariaDB.
        sa.Column("body", sa.Text().with_variant(mysql.LONGTEXT(), "mysql", "mariadb"), nullable=False),
        mysql_charset="utf8mb4",
        mariadb_charset="utf8mb4",
    )
    op.create_table(
        "sqlcompress_demo_symbol",
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column("name", sa.String(255), nullable=False, index=True),
        sa.Column("kind", sa.String(20), nullable=False),
        sa.Column("line", sa.Integer(), nullable=False),
        sa.Column("meta", sa.JSON(), nullable=False),
        mysql_charset="utf8mb4",
        mariadb_charset="utf8mb4",
    )


def downgrade() -> None:
    """Downgrade schema."""
    op.drop_table("sqlcompress_demo_symbol")
    op.drop_table("sqlcompress_demo_article")
