"""Proofs for CEL rules: one generated function runs all rules of an object, within the server's cost limits."""
