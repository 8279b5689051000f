"""Chat completions of OpenAI-compatible servers."""
