"""The functions that the server adds to the CEL language, one file per library of cel-go or Kubernetes.

What comes in is values of CEL (`auditor.cel.values`), what goes out is values or a `CelError` in the server's words.
Nothing here parses or checks an expression. Each file has `functions()`, the `Function` records of its library; the
interpreter finds the overload and pays the cost (an `Overload` has a `cost` only where the server keeps one for
exactly that overload). Macros are the parser's, the standard functions the interpreter's.

Source: k8s.io/apiserver pkg/cel/library and pkg/cel/environment/base.go; cel-go v0.29.2 ext/ and cel/library.go.
"""
