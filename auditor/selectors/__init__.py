"""Selectors: their grammar, the values that they compare, and the index of a report that they query.

Source: apimachinery pkg/fields, pkg/labels; apiextensions-apiserver pkg/registry/customresource/strategy.go.
"""
