"""Who clients are and what they may do. Knows no socket and no broker; `ottla.broker.security` asks it."""
