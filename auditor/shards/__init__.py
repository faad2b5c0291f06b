"""One shard: its objects judged, its rows written as Parquet parts, its counts returned.

Nothing here knows other shards, processes or a terminal.
"""
