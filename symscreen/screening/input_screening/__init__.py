"""Which columns of a table matter: forward selection against permuted copies of all columns."""
