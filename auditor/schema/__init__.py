"""The schema tree of a CRD version, and everything that changes an object by it.

Input: JSONSchemaProps and JSON objects. Output: StructuralSchema trees; objects that are pruned, defaulted, and have
typed metadata. Validation is another package. Each of these changes is a plain interpreter,
against which generated code is checked. Follows apiextensions-apiserver pkg/apiserver/schema.
"""
