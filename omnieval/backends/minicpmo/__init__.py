"""MiniCPM-o in process, by the model's own `chat()`."""
