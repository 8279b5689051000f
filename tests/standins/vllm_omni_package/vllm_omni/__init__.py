"""A stand-in for vllm-omni: the class `Omni` alone, with the signatures of version 0.30."""
