"""Find the columns of a table that matter: forward selection against permuted copies of all columns."""
