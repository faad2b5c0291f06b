"""Proofs for objects decoded to record types generated from the schema, which msgspec validates while it decodes."""
