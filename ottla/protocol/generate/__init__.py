"""The generator behind `ottla/protocol/messages/`: Apache Kafka's message schemas in, Python modules out.

    schema.py    what a message looks like in one of its versions
    layouts.py   which versions share a layout; Python's types for Kafka's
    reader.py    the body of a function that reads a struct; writer.py of one that writes it
    modules.py   a whole module; the table of APIs

Nothing here is imported while a broker runs.
"""
