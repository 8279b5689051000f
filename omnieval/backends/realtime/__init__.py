"""Full-duplex sessions over WebSocket."""
