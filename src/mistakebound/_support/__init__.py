"""Helpers for all other packages: array types, locks, threads, atomic files, signals, checks of JSON fields."""
