"""Commands about objects and kinds of dumps: lists of kinds, explanations, events, histories, comparisons."""
