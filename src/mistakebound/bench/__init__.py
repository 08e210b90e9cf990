"""Timing beside other libraries, in one run."""
