"""What a running broker is like: groups, topics, transactions, requests, and the waiting for a condition on them.

Looks are frozen values, taken in the event loop and good in any thread. The control API and `ottla.testing` show the
same ones.
"""
