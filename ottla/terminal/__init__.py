"""What all commands share: exit codes, and the form of their output.

Knows neither a broker nor a job; the broker's command line and the pipeline's both use it.
"""
