"""``kubectl get`` for any store that can list and get objects: arguments, selection, output, errors, exit code."""
