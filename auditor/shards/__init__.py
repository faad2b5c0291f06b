"""Audits one shard: judges its objects, writes its rows as Parquet parts, returns its counts.

Nothing here depends on other shards, processes or a terminal.
"""
