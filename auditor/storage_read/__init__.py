"""The exact storage read: from the bytes of one stored value to the object that a GET at a version returns."""
