"""Reports: Arrow tables and counts in, text out; nothing here knows a schema of an object."""
