"""Engines that a run starts itself: devices, processes that speak JSON lines, supervision."""
