"""`/v1/audio/speech` of OpenAI-compatible servers."""
