"""Folders as a hub has them of MiniCPM-o, with a stand-in in it: code, config, real weights."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
SAVE = """
import sys, torch
sys.path.insert(0, {here!r})
torch.manual_seed(0)
from modeling_{kind} import {cls}, {cls}Config
{cls}({cls}Config()).save_pretrained({folder!r}, safe_serialization=True)
"""
CLASSES = {"tiny_omni": "TinyOmni", "acting_omni": "ActingOmni"}


def build(folder: Path, kind: str, **config: object) -> Path:
    """A model folder; kind: tiny_omni or acting_omni. config: further keys of its config.json."""
    cls = CLASSES[kind]
    code = SAVE.format(here=str(HERE), kind=kind, cls=cls, folder=str(folder))
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, env=os.environ)
    shutil.copy(HERE / f"modeling_{kind}.py", folder)
    path = folder / "config.json"
    content = json.loads(path.read_text())
    auto = {"AutoConfig": f"modeling_{kind}.{cls}Config", "AutoModel": f"modeling_{kind}.{cls}"}
    path.write_text(json.dumps({**content, "auto_map": auto, **config}))
    (folder / "tokenizer_config.json").write_text("{}")
    return folder
