"""Tests of the stores, of what is kept in them, and of the commands on them."""
