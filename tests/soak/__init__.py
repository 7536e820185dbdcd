"""Drills: clients at work all along, while things go wrong at random.

    make test                      each drill in its short form, with the same seed each time
    make soak                      the long form, with a new seed, which is printed
    make soak SEED=7 ROUNDS=500    that very order of events again, for longer

What happens, and in which order, follows from the seed alone. When exactly it hits the clients does not: they are
processes of their own. A drill takes the fixture `drill` and asks it for everything random.
"""
