"""The whole story on real text: plain tables, the migration, application code, and what was saved."""
