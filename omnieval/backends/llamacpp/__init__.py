"""llama.cpp-omni: evaluation programs, manifest, and server."""
