"""What an API server would answer from a dump or a report: lists in key order, tables, revisions, watch events."""
