"""Time this package and other libraries in the same run."""
