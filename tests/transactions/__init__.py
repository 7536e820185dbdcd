"""Transactions while brokers die: `driver.py` is a producer that never gives up, the tests say when what goes wrong.

test_nodes.py    nodes stop between each two steps: the coordinator, the leaders
test_kills.py    the whole broker is killed between each two steps, and at random under a real client
"""
