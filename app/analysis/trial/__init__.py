"""Randomised trials: the estimator, its tests, planned looks, power by simulation, preregistration and deviations."""
