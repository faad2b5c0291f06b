"""What the command line says about dumps themselves: hints after an audit."""

from __future__ import annotations

from typing import Any

__all__ = ["encryption_hint"]


def encryption_hint(manifest: dict[str, Any], *, configured: bool) -> str:
    """Say which keys encrypted values need that could not be opened; empty: all of them could, or there are none."""
    closed = [count for count in manifest["encryption"] if not count["opened"]]
    if not closed:
        return ""
    lines = ["Encrypted values that were not opened"]
    for count in closed:
        key_id = f", key id {count['key_id']}" if count["key_id"] else ""
        lines.append(f"  {count['values']} sealed by {count['provider']} {count['name']}{key_id}".rstrip())
    if not configured:
        lines.append("  nothing is wrong with them; give --encryption-config, and --kms-decryptor for kms")
    return "\n".join(lines)
