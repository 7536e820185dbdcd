"""What every command has in common at a terminal: how it ends, and how its answers look.

Knows neither a broker nor a job; the broker's command line and the pipeline's both stand on it.
"""
