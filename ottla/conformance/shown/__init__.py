"""A card in every form: as text for a terminal, as JSON, as JUnit's XML, as a page."""
