"""Compare the packages with recorded results of the real programs: `python -m tests.conformance`.

`_registry` pairs each area with its adapter; an adapter's docstring says what it compares.
"""
