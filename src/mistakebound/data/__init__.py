"""Files, tables, DataFrames and pipes become examples with labels."""
