"""Sounds as backends receive and send them."""
