"""Everything with an effect: files, locks, sockets, the clock."""
