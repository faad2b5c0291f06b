"""Go's regular expressions (RE2): syntax, its errors, and a matcher for each pattern."""
