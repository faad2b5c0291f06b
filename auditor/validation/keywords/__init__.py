"""One function per keyword: it compiles a schema into a check, or returns None if nothing can fail.

A check belongs to one kind of value (the kind of the value selects the keywords, not the type of the schema). It
appends failures to the sink and returns the match count of its nested checks; counts that never vary are added up when
the schema is compiled (`auditor.validation.node`). All checks run, and none raises.

Source: kube-openapi pkg/validation/validate.
"""
