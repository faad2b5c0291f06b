"""The program turns one stored value into one AuditedObject, by storage read, validation and the fast path.

`program.AuditProgram` chooses between two ways. The reference consists of plain interpreters: `auditor.storage_read`
(bytes to object), then `auditor.validation`. The fast path (`auditor.fastpath`) is code generated for one version of a
definition: `dicts` reads an object and proves it valid in a single pass; `records`, for callers that need no object
back, proves most objects while they are decoded. All objects that are not proven go to the reference. A wrong "proven"
is a bug; a missed one costs time.

Nothing here depends on processes, dumps or tables. Import the modules, not this package.

Source: apiextensions-apiserver pkg/apiserver/customresource_handler.go, pkg/registry/customresource/strategy.go.
"""
