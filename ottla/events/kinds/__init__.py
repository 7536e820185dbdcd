"""The table of the kinds of events, in parts: each tells of one thing. `ottla.events.kind` puts them together."""
