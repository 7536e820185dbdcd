"""What a broker's journal says of its groups: why they rebalanced, how often, how long. Pure: no Spark, no network.

`ottla rebalances` gives the lines of files to `analysis.find`. The Spark job gives each task a share of the groups, and
merges the tasks' analyses (`ottla.pipeline.transforms.journal`). Both show the same `Found`.

    lines.py        one line: its fields, and which lines are usable
    journals.py     files, in the order in which their lines were written
    story.py        one group, line by line
    sums.py         sums, percentiles, unions: of any number of values, in bounded memory
    analysis.py     all groups
    found.py        the result, and the columns of its tables
    words.py        what outcomes and causes mean; times and lengths as text
    conclusion.py   the result in two sentences
    page.py         the page: sentence, source, timeline, list, tables, terms; viewer/ has its own style and script
"""
