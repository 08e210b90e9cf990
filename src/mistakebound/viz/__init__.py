"""Pictures and HTML pages from arrays and plain records."""
