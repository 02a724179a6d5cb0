"""Values of generation traces: for now sizes and hashes that agree with JavaScript's."""

from tavern_trace._version import __version__
from tavern_trace.errors import TraceError
from tavern_trace.hashing import Counts, counts, digest, json_stringify

__all__ = ["Counts", "TraceError", "__version__", "counts", "digest", "json_stringify"]
