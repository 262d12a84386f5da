"""Migrations under writers and kills: rows that are easily lost, writers with a journal, and the story."""
