"""What needs two packages or the whole tree: boundaries, determinism, packaging, README."""
