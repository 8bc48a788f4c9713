"""Linear models: Gram matrices, regularisation paths, stepwise, best-subset and exhaustive selection."""
