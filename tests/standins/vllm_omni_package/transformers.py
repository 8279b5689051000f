"""A stand-in for transformers: a tokenizer with a chat template like MiniCPM-o's, and nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import Any


class _Tokenizer:
    def apply_chat_template(
        self,
        messages: list[dict[str, str]],
        *,
        tokenize: bool,
        add_generation_prompt: bool,
        enable_thinking: bool = True,
        use_tts_template: bool = False,
    ) -> str:
        assert not tokenize and add_generation_prompt
        turns = "".join(f"<|im_start|>{m['role']}\n{m['content']}<|im_end|>\n" for m in messages)
        thought = "" if enable_thinking else "<think>\n\n</think>\n\n"
        return f"{turns}<|im_start|>assistant\n{thought}{'<|tts_bos|>' if use_tts_template else ''}"


class AutoTokenizer:
    @staticmethod
    def from_pretrained(model: str, *, trust_remote_code: bool = False) -> Any:
        if not (Path(model) / "tokenizer_config.json").is_file():
            raise OSError(f"{model} has no tokenizer")
        return _Tokenizer()
