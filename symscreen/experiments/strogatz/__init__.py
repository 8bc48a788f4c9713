"""Recovery of the ODE-Strogatz equations."""
