"""The plan of a run: its options, the definitions, the live tables and the shards that workers judge."""
