"""The storage read, exactly: bytes of one stored value to the object that a GET at some version returns."""
