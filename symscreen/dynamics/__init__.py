"""Equations of motion: from measured trajectories to the differential equations of their states."""

from symscreen.dynamics.discovery import discover_ode
from symscreen.dynamics.prediction import integrate_runs
from symscreen.dynamics.result import OdeResult

__all__ = ["OdeResult", "discover_ode", "integrate_runs"]
