"""Use cases: bytes and values in, values out. Nothing here reads, prints or draws."""
