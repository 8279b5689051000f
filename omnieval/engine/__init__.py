"""The engine prepares media ahead of the requests, sends them, and keeps every outcome."""
