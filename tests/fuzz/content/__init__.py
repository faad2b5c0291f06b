"""Hostile content: definitions, objects and containers that no sane person writes, and what every command says."""
