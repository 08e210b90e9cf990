"""Helpers of every room: arrays, locks, threads, files that are replaced whole, signals, checks of fields."""
