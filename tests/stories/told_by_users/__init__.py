"""The stories G, J and C as users of `ottla.testing` tell them: real clients, its fixtures, waits, faults and holds."""
