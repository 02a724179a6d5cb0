"""Steps of a session, through all services."""
