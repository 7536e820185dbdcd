"""The data pipeline: PySpark jobs over a broker's topics, groups and history, for Ottla and any other Kafka alike.

    ottla pipeline JOB …                                       on a laptop: all its cores, jars resolved by itself
    spark-submit --master … ottla/pipeline/jobs/JOB.py …       on a cluster, the same file

How a job is made:

    jobs/JOB.py        `JOB = Job(…)` and two lines that make it a script; `ottla pipeline` finds the file by itself
    transforms/*.py    what it does, functions from DataFrame to DataFrame: no session, no I/O; tests need no broker

A job has two halves (`job.py`). `check` reads the options and looks at the world, before Spark starts, which takes
seconds: is the broker there, has it the topic, is the target empty? It raises a `Refusal` whose one line says what to
do, or returns a plan. `run` takes the session and the plan, and returns a `JobOutcome`: the numbers of the closing
line, and what `--json` adds. Around both, `launch.py` does what is the same for all jobs: options, Java, the session,
progress, exit codes.

    session.py     Spark: pinned coordinates, settings, local or as spark-submit has it
    address.py     where a Kafka is, and how to get in: TLS and SASL for both kinds of client
    cluster.py     a Kafka: its id, partitions, offsets; reading topics through Spark's connector
    places.py      where files are: any URI Spark knows
    sender.py      records to a topic, from Spark's tasks; targets.py: the topics, where a job has two clusters
    progress.py    the steps of a job, on stderr

Modules that import PySpark at their head are the transforms, and nothing else may: a job imports them within `run`, so
that `--help` is quick and a missing `[spark]` extra is one clear line. The pipeline imports nothing of the broker's.
The analysis of journals is `ottla.rebalances`, which knows no Spark.
"""
