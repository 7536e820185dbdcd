"""What a kind of group is, as data: what the coordinator, and everything that looks at groups, has to know of it.

    kind        one row a kind: its machine, states, timers, records, requests, views, and what a hand may do to it
    outside     a class of requests: what it is answered where it gets to no group of its kind
    view        a group's members, and what it waits for, as values

The rows themselves stand with the machines; `groups/kinds.py` lists them.
"""
