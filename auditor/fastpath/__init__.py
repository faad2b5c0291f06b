"""Generated code that proves objects valid. It may only prove.

For one version of a definition, functions are generated that read an object and prove that it is valid. What they do
not prove goes to the reference: the storage read (`auditor.storage_read`) and the validator (`auditor.validation`). A
wrong proof is a bug; a missing proof costs time. No finding, message or field is ever produced here.

Three packages; each imports only those before it: `dicts` (objects decoded to dicts), `rules` (CEL rules),
`records` (objects decoded to records made of the schema: the fastest). `auditor.program`, `auditor.updates` and
`auditor.shards` ask them; nothing else does.
"""
