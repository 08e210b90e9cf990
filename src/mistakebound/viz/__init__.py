"""Pictures and HTML pages, made from arrays and plain records."""
