"""Read files, tables, DataFrames and pipes as examples with labels."""
