"""The HTTP API held against its own description by schemathesis: `python -m tests.api`."""
