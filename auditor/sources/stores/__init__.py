"""Dumps that are not local files: object stores, web servers, and how long to wait for them."""
