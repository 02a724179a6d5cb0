"""The HTTP API: one ASGI application over the services of the package."""
