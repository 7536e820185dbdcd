"""A broker as one looks at it from beside: what is true, what is waited for, what was asked, and how to put it back.

Looks are frozen values, taken in the event loop and good in any thread. The control API and `ottla.testing` show the
same ones.
"""
