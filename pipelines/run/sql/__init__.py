"""Answers to SQL: what `auditor sql` does."""
