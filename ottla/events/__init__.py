"""What happened: one stream of events, and the table of their kinds. Ground: it knows nothing of who tells or reads."""
