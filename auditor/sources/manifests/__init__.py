"""Manifests (JSON or YAML, written by people or exported through the API) to a live table."""
