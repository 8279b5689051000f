"""How a text to be said, and the voice, are written into a request."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from omnieval.types import JsonDict, MediaPart, SpeechTask

_LANGUAGES: Mapping[str, str] = {"en": "English", "zh": "Chinese"}


def speech_fields(task: SpeechTask, media_url: Callable[[MediaPart], str]) -> JsonDict:
    """vLLM-Omni's fields for the voice, in the root of the body.

    The voice is that of the reference (`Base`), else the named one (`CustomVoice`), else as described
    (`VoiceDesign`). Raises OSError when the reference cannot be read.
    """
    fields: JsonDict = {"language": _LANGUAGES.get(task.language, task.language)}
    if task.reference_audio is not None:
        fields |= {"task_type": "Base", "ref_audio": media_url(task.reference_audio)}
        if task.reference_text:
            fields["ref_text"] = task.reference_text
    elif task.voice:
        fields |= {"task_type": "CustomVoice", "voice": task.voice}
    elif task.instructions:
        fields["task_type"] = "VoiceDesign"
    if task.instructions:
        fields["instructions"] = task.instructions
    return fields
