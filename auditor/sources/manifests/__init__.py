"""Manifests (JSON or YAML, written by people or exported through the API) as a live table."""
