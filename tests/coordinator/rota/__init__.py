"""A kind of group that there is only in tests: a rota, whose members take turns at all of a topic.

    machine     what a rota is, and what it does
    row         all that the coordinator and its tools have to know of it

Nothing in `ottla` names it. `row.registered` has it for as long as a test runs.
"""
