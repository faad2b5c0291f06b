"""Commands about objects, keys and kinds of dumps: one key, kinds, explanations, events, histories, comparisons."""
