"""Typed rows that an audit writes in its own pass: the worker that judged a shard writes the tables of it."""
