"""`make bench-pipeline`: how fast the Spark jobs are, with the broker on the same cores. See bench/README.md."""
