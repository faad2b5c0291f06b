"""One function per keyword: schema in, check out, or None where nothing can fail.

A check belongs to one kind of value (the kind of the value chooses the keywords, not the type of the schema). It
appends failures to the sink and returns the match count of what it ran inside; counts that never vary are added up when
the schema is compiled (`auditor.validation.node`). No check stops another, and none raises.

Source: kube-openapi pkg/validation/validate.
"""
