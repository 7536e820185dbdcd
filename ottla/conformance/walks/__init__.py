"""Random walks: producers do what a seed says, right and wrong, in any order.

    walk.py      who takes part, what there is to choose from, one step after the other
    onlooker.py  what everybody can see after each step; only what has changed goes into the transcript
    steps.py     what a producer may do
    readers.py   what those beside it may do: readers, groups, operators

A walk draws all that it does from its seed and, where a step needs it, from what the broker gave (ids, epochs,
offsets). So two brokers that answer alike walk alike.
"""
