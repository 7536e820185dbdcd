"""From a socket to a handler and back: listeners, connections, the table of the APIs, calls and their answers."""
