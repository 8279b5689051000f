"""vLLM-Omni in a process of its own."""
