"""Statistics of features and targets: numeric kernels from arrays to arrays."""
