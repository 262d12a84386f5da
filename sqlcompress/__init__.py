"""Transparent column compression on the client, for SQLAlchemy."""

__version__ = "0.1.0.dev0"
