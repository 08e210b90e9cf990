"""Pictures and pages, made of arrays and plain records."""
