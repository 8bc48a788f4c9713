"""Search a space without scoring every feature on all rows: race and successive halving on subsamples."""
