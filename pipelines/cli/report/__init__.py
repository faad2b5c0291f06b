"""Commands that read a stored report."""
