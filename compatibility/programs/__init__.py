"""The clients' programs: the words of the stories in each client's language.

Those in Python are the programs of tests/clients, with security and with what other versions do otherwise. All speak
as tests/clients/programs/program.py says; words that no story of theirs needs are left out. Each is started with the
broker's address, a client id, and security as JSON: `{"ca": FILE}`, `{"user": …, "password": …}` or `{}`.
"""
