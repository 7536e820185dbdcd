"""Opening and closing a broker: what it is built of, its sockets, its run from start to end."""
