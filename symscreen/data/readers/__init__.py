"""Readers: one file for each kind of source. A reader returns a `RawTable`."""
