"""Updates: the server's answer to a PUT or PATCH of an object, from the client's bytes to the status code."""
