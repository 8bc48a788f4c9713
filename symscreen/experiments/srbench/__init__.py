"""SRBench's ground-truth problems: protocol, judge, resumable trials, and rates with the published ones."""
