"""Does a broker answer as Kafka does? The same requests to it as were sent to Kafka, and the answers compared.

A *script* is a small function that plays clients against a broker through a `Scene`; what the broker says, or that it
closes the connection or keeps silent, goes into the scene's transcript. What two right brokers may differ in (ids
they make up, ports, the time of day, wording) is replaced by labels on the way, so transcripts compare as they stand.

Apache Kafka's transcripts are kept in `golden/`, by release. `ottla conformance HOST:PORT` compares any broker with
them; our own tests compare Ottla in every run, and a live Kafka wherever one can run. A difference that Ottla has on
purpose is declared at its script, with the reason that `docs/differences.md` gives.

    wire.py, client.py   a connection in frames, and in messages
    batches.py           record batches, right or wrong
    transcript.py        a message as comparable data
    member_ids.py        ids that another broker makes up, as Kafka's would look
    scene.py             actors on connections, fresh names, waiting for a state; records the transcript
    script.py            the decorator, the list of all scripts
    scripts/             the scripts, one module an area; each has its golden file
    cast.py, partitions.py, producer.py   what scripts have in common
    walks/               what random walks are made of; `scripts/transaction_walks.py` plays them
    settings.py          what a broker is set to
    golden.py            reading, writing and comparing recorded transcripts
    survey.py, claims.py     what a broker says of itself: its versions, its settings
    selection.py         which scripts are wanted
    play.py              all of them, one after the other, against one broker; cleaning.py removes what they made
    comparison.py, card.py   what differs, and what came of each
    shown/               a card as text, JSON, JUnit's XML, a page
    command.py           the options of `ottla conformance`
"""
