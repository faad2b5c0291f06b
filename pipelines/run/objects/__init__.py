"""What commands about objects and kinds of dumps do: lists of kinds, explanations, events, histories, comparisons."""
