"""`python -m ottla.cli.reference docs` writes the pages."""

import sys

from ottla.cli.reference import write_pages

write_pages(*sys.argv[1:])
