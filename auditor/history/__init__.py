"""Reports of many nights."""
