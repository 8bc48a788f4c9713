"""The numeric kernels: arrays in, arrays out."""
