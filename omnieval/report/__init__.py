"""Scores to tables: terminal, Markdown and JSON."""
