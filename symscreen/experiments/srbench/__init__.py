"""SRBench's ground-truth problems: protocol, judge, resumable trials, and rates beside the published ones."""
