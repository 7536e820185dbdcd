"""Which clients, in which versions, do what with Ottla, and with Kafka: played for real, and printed as a page.

    make card                       plays everything and prints docs/compatibility.md
    make card ONLY=kafka-python     one client; the rows of the others stay as they were, with their dates

    stories.py     what is played: eight stories, each with a sentence of what it proves
    clients/       the libraries: their versions, how one is installed, what it has not
    programs/      one program for each library, told what to do line by line (tests/clients/programs/program.py)
    brokers.py     Ottla and Kafka, each with a listener for TLS and one for SASL, if it serves them
    matrix.py      every client with every story against both
    results/       what came of it, as JSON with dates and commits; the page is printed from these alone
    page.py        docs/compatibility.md, one section for each file of results

What is not run is never said to work: a client whose tool is missing keeps its old row and that row's date.
"""
