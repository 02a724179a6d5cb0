"""The version of this package: read by its build, and by whoever must name the code that ran."""

__version__ = "0.1.0"
