"""Generated code that proves objects valid. It may only prove, never refuse.

For each version of a definition, functions are generated that read an object and prove that it is valid. Objects that
they do not prove go to the reference: the storage read (`auditor.storage_read`) and the validator
(`auditor.validation`). A wrong proof is a bug; a missing proof costs time. The fast path produces no findings and no
messages.

Three packages; each imports only those before it: `dicts` (objects decoded to dicts), `rules` (CEL rules), `records`
(objects decoded to record types generated from the schema: the fastest). Only `auditor.program`, `auditor.updates` and
`auditor.shards` use them.
"""
