"""A theorem checked on a stream: evidence in, certificate out."""
