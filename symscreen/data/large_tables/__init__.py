"""Tables of Parquet files that are larger than the memory allowed: columns on disk, a sample of the rows."""
