"""Proofs for objects that are decoded to records made of the schema, which msgspec validates while it decodes."""
