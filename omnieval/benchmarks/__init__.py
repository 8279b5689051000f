"""Benchmarks: find data, yield samples, plan their media, pack requests, name the reference results."""
