"""In front of the real one on PYTHONPATH, this makes Python one for which there is no uvloop, as on Windows."""

raise ImportError("there is no uvloop here")
