"""``kubectl get`` over anything that can list and get objects: arguments, selection, output, errors, exit code."""
