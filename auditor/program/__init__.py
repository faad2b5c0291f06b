"""The program: one stored value in, one AuditedObject out; it calls storage read, validation and the fast path.

There are two ways. The reference, plain interpreters: `read` (bytes to object), then the validator of
`auditor.validation`. And generated code: `build` makes, for one version of a definition, a function that reads an
object and proves it valid in a single pass; whatever it does not prove goes to the reference. `audit_program` chooses
between them, `request` finds the definition and version first. Before both, for a caller that audits many and wants no
object back, `typed` runs: records made of the schema, which prove most objects while they are decoded.

The code is generated from the schema tree by `emit` (values), `objects`, `lists`, `scalars`, `branches`, `expand`
(defaults) and `root`; `scope` says where the emitters are, `checks` binds patterns and formats, `support`,
`metadata` and `typed_metadata` are what runs beside the generated code. A wrong
"proven" is a bug; a missed one costs time.

Nothing here knows processes, dumps or tables. Import the modules, not this package: `read` is wanted alone, too.

Source: apiextensions-apiserver pkg/apiserver/customresource_handler.go, pkg/registry/customresource/strategy.go.
"""
