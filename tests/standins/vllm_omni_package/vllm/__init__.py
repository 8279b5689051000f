"""A stand-in for vllm: the sampling parameters alone."""
