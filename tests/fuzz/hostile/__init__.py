"""Inputs that attack the person who audits them, and what must hold of every command over them."""
