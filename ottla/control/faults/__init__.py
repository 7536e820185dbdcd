"""Faults: what goes wrong in a broker on request, and holds, which stop things until they are let go.

    specification  a fault or a hold in the words of a test or a script
    aim            what it is about: an API, a group, a client, a partition, …
    times          how often it happens
    verbs          the table of what can go wrong; actions: answers, losing, delaying, cutting, posing, storage
    targets        the table of what it can happen to, each row with its hook; coordinated: appends and timers
    fault          aim, target, actions and times together, and what the fault has hit
    exchange       a request on its way through the actions of its faults
    holds          requests, answers, deadlines and appends that wait until a test decides about them
    engine         installs hooks where something may still happen, and nowhere else

Loaded with the first fault. While there are none, connections call their handlers directly.
"""
