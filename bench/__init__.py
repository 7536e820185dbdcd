"""What is measured, and against whom: `make bench`, or `python -m bench --help`. README.md says how each peer starts.

broker.py     a running peer: its address, its process, what /proc says of it
peers/        one module a peer: Ottla, librdkafka's mock, kfake, Apache Kafka, a bare echo, any other broker
frames.py     requests and answers as ready-made frames
load.py       connections that keep so many requests in flight, and count
crowd.py      group members by the thousand
figures/      one module a figure
report.py     the table
"""
