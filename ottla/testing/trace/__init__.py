"""The trace of a run: what a broker saw, as a document, and as one page of HTML to look at. See docs/trace.md.

    of a broker ──of_broker──▶
                               Trace ──page──▶ one file, which a browser opens without a server
    of a file   ──of_file────▶

What a page does is in `viewer/`: plain JavaScript and CSS, put into each page as they are.
"""
