"""What every backend over HTTP needs: client, refusals, bodies, events."""
