"""A stand-in for MiniCPM-o: tiny, random, with real layers, and with a `chat()` of MiniCPM-o's signature.

Pictures and sounds become embeddings in the order of the parts; a small Qwen2 writes on by real generation, with
beams and a repetition penalty; a linear layer makes a 24 kHz sound of the text. What it says means nothing.
"""

import wave

import numpy as np
import torch
from PIL import Image
from torch import nn
from transformers import PretrainedConfig, PreTrainedModel, Qwen2Config, Qwen2ForCausalLM

SIDE, FRAME, VOCABULARY, SAMPLES_A_TOKEN = 28, 400, 128, 2400


class TinyOmniConfig(PretrainedConfig):
    model_type = "tiny_omni_stand_in"

    def __init__(self, init_vision=True, init_audio=True, init_tts=True, hidden_size=32, **kwargs):
        self.init_vision, self.init_audio, self.init_tts = init_vision, init_audio, init_tts
        self.hidden_size = hidden_size
        super().__init__(**kwargs)


class TinyOmni(PreTrainedModel):
    config_class = TinyOmniConfig
    _supports_sdpa = True

    def __init__(self, config):
        super().__init__(config)
        size = config.hidden_size
        self.llm = Qwen2ForCausalLM(
            Qwen2Config(
                vocab_size=VOCABULARY, hidden_size=size, intermediate_size=64, num_hidden_layers=2,
                num_attention_heads=2, num_key_value_heads=2, bos_token_id=1, eos_token_id=0, pad_token_id=0,
            )
        )  # fmt: skip
        self.eyes = nn.Conv2d(3, size, kernel_size=14, stride=14)
        self.ears = nn.Conv1d(1, size, kernel_size=FRAME, stride=FRAME)
        self.mouth = nn.Linear(size, SAMPLES_A_TOKEN)
        self.voice_ready = False
        self.post_init()

    def init_tts(self):
        self.voice_ready = True

    def chat(
        self,
        msgs,
        do_sample=True,
        num_beams=1,
        max_new_tokens=128,
        max_slice_nums=None,
        use_image_id=None,
        omni_input=False,
        use_tts_template=False,
        enable_thinking=False,
        generate_audio=False,
        output_audio_path=None,
        ref_audio=None,
        **kwargs,
    ):
        print("a line that the model's own code prints")
        heard = torch.cat([self._embedded(part) for msg in msgs for part in msg["content"]])[None]
        options = {
            key: kwargs[key]
            for key in ("temperature", "top_p", "top_k", "repetition_penalty")
            if key in kwargs
        }
        written = self.llm.generate(
            inputs_embeds=heard.to(self.dtype), attention_mask=torch.ones(heard.shape[:2], device=self.device),
            do_sample=do_sample, num_beams=num_beams, max_new_tokens=max_new_tokens, **options,
        )[0]  # fmt: skip
        if generate_audio:
            assert self.voice_ready and use_tts_template and not omni_input
            self._speak(written, output_audio_path, ref_audio)
        return "".join(map(chr, written.tolist()))

    def _embedded(self, part):
        if isinstance(part, str):
            ids = torch.tensor([ord(c) % VOCABULARY for c in part], device=self.device)
            return self.llm.get_input_embeddings()(ids)
        if isinstance(part, Image.Image):
            assert part.mode == "RGB"
            pixels = torch.from_numpy(np.asarray(part.resize((SIDE, SIDE)))).permute(2, 0, 1)[None] / 255
            return self.eyes(pixels.to(self.device, self.dtype)).flatten(2)[0].T
        assert isinstance(part, np.ndarray) and part.dtype == np.float32 and part.ndim == 1
        sound = torch.from_numpy(np.pad(part, (0, max(0, FRAME - len(part)))))[None, None]
        return self.ears(sound.to(self.device, self.dtype))[0].T

    def _speak(self, written, path, ref_audio):
        shift = self.ears(torch.from_numpy(ref_audio[: 4 * FRAME])[None, None].to(self.device, self.dtype))[
            0
        ].mean()
        sound = torch.tanh(self.mouth(self.llm.get_input_embeddings()(written)) + shift).flatten().float()
        with wave.open(path, "wb") as file:
            file.setnchannels(1)
            file.setsampwidth(2)
            file.setframerate(24_000)
            file.writeframes((sound * 32767).to(torch.int16).cpu().numpy().tobytes())
