"""The driver of the benchmark: starts the contestants, lets them take turns, compares, prints."""
