"""Rules of role-play beside a host, as values: no I/O, no clock, no chance."""
