"""Text in small forms that several parts read or write. Nothing here knows a broker, a clock or a terminal.

nearest.py       the valid name that is most like a misspelt one
record_json.py   a record as a line of JSON
markdown.py      tables, for pages that are printed from the code's tables
"""
