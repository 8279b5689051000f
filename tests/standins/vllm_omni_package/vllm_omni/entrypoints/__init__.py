"""See `vllm_omni`."""
