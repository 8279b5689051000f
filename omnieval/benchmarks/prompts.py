"""The wording of the user prompts, by style; wording moves accuracy, so each equals its reference."""

from __future__ import annotations

from collections.abc import Sequence

from omnieval.parsing import relabelled

_OFFICIAL_SUBJECT = {
    "all": "given video and audio together",
    "visual": "given video",
    "audio": "given audio",
}


def daily_omni_official(question: str, options: Sequence[str], input_mode: str) -> str:
    """The Daily-Omni benchmark's own prompt. input_mode: `all`, `visual` or `audio`."""
    choices = "\n".join(option.strip() for option in options if option.strip())
    return (
        "Your task is to accurately answer multiple-choice questions "
        f"based on the {_OFFICIAL_SUBJECT[input_mode]}.\n"
        "Select the single most accurate answer from the given choices.\n"
        f"Question: {question}\n"
        f"Choices: {choices}\n"
        "Your answer should be a capital letter representing your choice: A, B, C, or D. "
        "Don't generate any other text.\n"
    )


def video_mme_official(question: str, options: Sequence[str]) -> str:
    """The Video-MME benchmark's own prompt."""
    letters = [option[0] for option in relabelled(options)]
    named = f"{', '.join(letters[:-1])}, or {letters[-1]}"
    choices = "\n".join(relabelled(options))
    return (
        "Select the best answer to the following multiple-choice question based on the video. "
        f"Respond with only the letter ({named}) of the correct option.\n"
        f"{question}\n{choices}\n"
        "The best answer is:"
    )


def plain_choice(question: str, options: Sequence[str]) -> str:
    """The question, its options, and one plain sentence on how to answer."""
    choices = "\n".join(relabelled(options))
    return f"{question}\n{choices}\nAnswer with the letter of the right option."


def with_subtitles(prompt: str, subtitles: str) -> str:
    """A prompt with the video's subtitles before it, in the Video-MME benchmark's wording; the prompt alone
    where there are none."""
    if not subtitles:
        return prompt
    return f"This video's subtitles are listed below:\n{subtitles}\n{prompt}"


def omnievalkit_choice(question: str, options: Sequence[str]) -> str:
    """OmniEvalKit's multiple-choice prompt, the wording of the published MiniCPM-o numbers."""
    choices = "\n".join(relabelled(options))
    return (
        "Carefully read the following question and select the letter corresponding to the correct answer."
        "Highlight the applicable choices without giving explanations.\n"
        f"{question}\n"
        f"Options:\n{choices}\n"
        "Please select the correct answer from the options above. Only respond with the letter."
    )
