"""Responses to scores; never needs the model or the network."""
