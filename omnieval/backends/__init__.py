"""Backends turn a Request into a Response; each speaks one wire format or holds one engine."""
