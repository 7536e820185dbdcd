"""Things that go wrong because somebody asked for it: faults with an aim, and requests that are held.

    aim        what a fault is about: an API, a group, a client, a partition, …
    times      how often it happens
    actions    what happens: answers, losses, delays, ends of connections, a disk that fails
    fault      the three together, and what it has hit
    barrier    requests and answers that wait until somebody lets them go
    deadlines  timers of groups and failovers that wait in the same way; appends: so does what groups write
    engine     steps in between connections and handlers, while there is anything to step in for
    wish       all of it as a script or a test says it

Loaded with the first of them. While there are none, nobody stands between a connection and its handlers.
"""
