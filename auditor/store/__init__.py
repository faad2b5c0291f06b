"""Reports on disk: manifest, rows, what was not read."""
