"""Model files: a learner written to a file and read from it, never by pickle."""
