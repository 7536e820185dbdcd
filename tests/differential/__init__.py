"""The same requests to two brokers, the answers compared; `python -m tests.differential --help` explores by hand.

A *script* is a small function that plays clients against a broker through a `Scene`; what the broker says, or that it
closes the connection or keeps silent, goes into the scene's transcript. What two right brokers may differ in (ids
they make up, ports, the time of day, wording) is replaced by labels on the way, so transcripts compare as they stand.

Apache Kafka's transcripts are kept in `golden/`. Ottla is compared with them in every test run; they are compared
with a live Kafka wherever one can run. A difference kept on purpose is declared at its script, with the reason that
`docs/differences.md` gives.

    transcript.py   a message as comparable data
    scene.py        actors on connections, fresh names, waiting for a state; records the transcript
    script.py       the decorator, the list of all scripts
    scripts/        the scripts, one module an area; each has its golden file
    walks/          what random walks are made of; `scripts/transaction_walks.py` plays them
    brokers.py      Ottla and Kafka, started with the same settings
    golden.py       reading, writing and comparing recorded transcripts
"""
