"""`ottla rebalances`: what a broker's journal says of its groups: why they rebalanced, how often, how long. No Spark.

The same figures as `ottla pipeline rebalances` finds, in one pass over the lines; what is held of a group does not grow
with its lines. The tables and the page are the pipeline's (`ottla.pipeline.report`).

    command.py     the options, and what is shown
    journals.py    files into usable lines, in the order in which they were written
    story.py       what has happened to one group
    sums.py        totals, medians, times that overlap: of any number of values
    analysis.py    all groups: from lines to `Found`
"""

from ottla.cli.rebalances.command import add_to

__all__ = ["add_to"]
