"""Definitions: parses documents of v1 or v1beta1 into records of the served versions, and converts objects.

Input: decoded documents. Output: CustomResourceDefinition, CrdCatalog, which lists the documents that no server could
decode. `auditor.crdcheck` says whether a server would accept a definition today. Follows apiextensions-apiserver
pkg/apis/apiextensions and pkg/apiserver/conversion.
"""
