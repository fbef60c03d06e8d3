"""The first schema."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

_HASH = sa.String(64)


def upgrade() -> None:
    """Make the tables."""
    op.create_table(
        "facts",
        sa.Column("name", sa.String(40), primary_key=True),
        sa.Column("value", sa.Text, nullable=False),
    )
    op.create_table(
        "teams",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("name", sa.String(60), nullable=False),
        sa.Column("folded", sa.String(60), unique=True),
        sa.Column("password", sa.Text),
        sa.Column("role", sa.String(10), nullable=False),
        sa.Column("created", sa.Float, nullable=False),
        sa.Column("deleted", sa.Float),
    )
    op.create_table(
        "links",
        sa.Column("hash", _HASH, primary_key=True),
        sa.Column("purpose", sa.String(10), nullable=False),
        sa.Column("team", sa.Integer, sa.ForeignKey("teams.id")),
        sa.Column("expires", sa.Float, nullable=False),
        sa.Column("used", sa.Float),
    )
    op.create_table(
        "sessions",
        sa.Column("hash", _HASH, primary_key=True),
        sa.Column("team", sa.Integer, sa.ForeignKey("teams.id"), nullable=False),
        sa.Column("csrf", sa.String(64), nullable=False),
        sa.Column("expires", sa.Float, nullable=False),
    )
    op.create_table(
        "tokens",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("hash", _HASH, nullable=False, unique=True),
        sa.Column("team", sa.Integer, sa.ForeignKey("teams.id"), nullable=False),
        sa.Column("label", sa.String(60), nullable=False),
        sa.Column("created", sa.Float, nullable=False),
        sa.Column("revoked", sa.Float),
    )
    op.create_table(
        "failures",
        sa.Column("key", sa.String(200), primary_key=True),
        sa.Column("count", sa.Integer, nullable=False),
        sa.Column("until", sa.Float, nullable=False),
    )
    op.create_table(
        "versions",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("created", sa.Float, nullable=False),
        sa.Column("published", sa.Float),
        sa.Column("reason", sa.Text, nullable=False),
        sa.Column("changes", sa.Text, nullable=False),
        sa.Column("rules", sa.Text, nullable=False),
        sa.Column("truths", sa.Text, nullable=False),
        sa.Column("settings", _HASH, nullable=False),
        sa.Column("package", sa.String(40), nullable=False),
        sa.Column("moves", sa.Text),
    )
    op.create_table(
        "submissions",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("team", sa.Integer, sa.ForeignKey("teams.id"), nullable=False),
        sa.Column("dataset", sa.String(200), nullable=False),
        sa.Column("program", sa.String(60), nullable=False),
        sa.Column("sha256", _HASH, nullable=False),
        sa.Column("file_name", sa.String(200), nullable=False),
        sa.Column("size", sa.BigInteger, nullable=False),
        sa.Column("reading", sa.Text, nullable=False),
        sa.Column("preview", sa.Text, nullable=False),
        sa.Column("valid", sa.Boolean, nullable=False),
        sa.Column("created", sa.Float, nullable=False),
        sa.Column("handed_in", sa.Float),
        sa.Column("refunded", sa.String(10)),
        sa.Column("marked", sa.Boolean, nullable=False),
        sa.Column("withdrawn", sa.Float),
        sa.Column("excluded", sa.Text),
        sa.Column("baseline", sa.Boolean, nullable=False),
    )
    op.create_index("submissions_of_team", "submissions", ["team", "dataset"])
    op.create_table(
        "jobs",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("kind", sa.String(10), nullable=False),
        sa.Column("submission", sa.Integer, sa.ForeignKey("submissions.id")),
        sa.Column("version", sa.Integer, sa.ForeignKey("versions.id"), nullable=False),
        sa.Column("state", sa.String(10), nullable=False),
        sa.Column("token", sa.Integer, nullable=False),
        sa.Column("attempts", sa.Integer, nullable=False),
        sa.Column("lease_until", sa.Float, nullable=False),
        sa.Column("due", sa.Float, nullable=False),
        sa.Column("created", sa.Float, nullable=False),
        sa.Column("finished", sa.Float),
        sa.Column("reason", sa.Text),
        sa.UniqueConstraint("kind", "submission", "version"),
    )
    op.create_index("jobs_by_state", "jobs", ["state", "due"])
    op.create_table(
        "scores",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("submission", sa.Integer, sa.ForeignKey("submissions.id"), nullable=False),
        sa.Column("version", sa.Integer, sa.ForeignKey("versions.id"), nullable=False),
        sa.Column("board", sa.String(10), nullable=False),
        sa.Column("key", _HASH, nullable=False),
        sa.Column("value", sa.Float, nullable=False),
        sa.Column("entry", sa.LargeBinary, nullable=False),
        sa.Column("curve", sa.Text, nullable=False),
        sa.Column("words", sa.Text, nullable=False),
        sa.Column("remarks", sa.Text, nullable=False),
        sa.Column("notes", sa.Text, nullable=False),
        sa.Column("accepted", sa.Boolean),
        sa.Column("shown", sa.Text),
        sa.UniqueConstraint("submission", "version", "board"),
    )
    op.create_index("scores_by_key", "scores", ["key"])
    op.create_table(
        "snapshots",
        sa.Column("version", sa.Integer, sa.ForeignKey("versions.id"), primary_key=True),
        sa.Column("board", sa.String(10), primary_key=True),
        sa.Column("basis", sa.Integer, nullable=False),
        sa.Column("created", sa.Float, nullable=False),
        sa.Column("content", sa.Text, nullable=False),
    )
    op.create_table(
        "log",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("at", sa.Float, nullable=False),
        sa.Column("who", sa.String(40), nullable=False),
        sa.Column("what", sa.String(40), nullable=False),
        sa.Column("content", sa.Text, nullable=False),
        sa.Column("before", _HASH, nullable=False),
        sa.Column("hash", _HASH, nullable=False),
    )
    _only_add_to_log()


def _only_add_to_log() -> None:
    if op.get_bind().dialect.name == "sqlite":
        for what in ("UPDATE", "DELETE"):
            op.execute(
                f"CREATE TRIGGER log_no_{what.lower()} BEFORE {what} ON log "
                "BEGIN SELECT RAISE(ABORT, 'rows are only added to the log'); END"
            )
        return
    op.execute(
        "CREATE FUNCTION log_is_fixed() RETURNS trigger LANGUAGE plpgsql AS "
        "$$ BEGIN RAISE EXCEPTION 'rows are only added to the log'; END $$"
    )
    op.execute(
        "CREATE TRIGGER log_is_fixed BEFORE UPDATE OR DELETE OR TRUNCATE ON log "
        "FOR EACH STATEMENT EXECUTE FUNCTION log_is_fixed()"
    )
