"""The jobs, a file each, named as the command. Each has a `JOB`, and is a script for spark-submit as well."""
