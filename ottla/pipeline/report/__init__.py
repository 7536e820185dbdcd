"""What a journal says of rebalances, as people see it: tables, a sentence, and a page of HTML.

The job `rebalances` and the command `ottla rebalances` find the same in their own ways, and both hand it over as
`found.Found`. Nothing here knows Spark.

    found.py        what was found, and the columns of its tables
    words.py        what outcomes and causes mean, times and lengths for people
    choice.py      which of many are shown
    conclusion.py   the sentence
    page.py         the page: conclusion, source, timeline, list, tables, terms; viewer/ has its style and script
"""
