"""The hands of a test, a script or a person on a running broker. A broker without them is a whole broker.

state/    what there is to see and to wait for
changes/  what can be changed without being a client: topics, groups, leaders, time, the whole broker
faults/   what is to go wrong, or to be held
api/      all of it over HTTP
"""
