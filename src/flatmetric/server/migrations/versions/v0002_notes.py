"""Teams may add a note to a submission."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Add the column."""
    op.add_column("submissions", sa.Column("note", sa.String(200), nullable=False, server_default=""))
