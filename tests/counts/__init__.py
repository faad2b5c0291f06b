"""How much work an object is, as counts that are equal on every machine; a test holds them."""
