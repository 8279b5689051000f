"""Texts made alike before their words are compared.

`official` is the seed-tts-eval protocol. `lenient` is ours: it also makes numbers, spellings and
abbreviations alike, which the official protocol counts as errors.
"""

from __future__ import annotations

import re
import string
from functools import cache
from typing import Any, Literal

from omnieval.errors import ConfigError

Language = Literal["en", "zh"]
_ARABIC_NUMBER = re.compile(r"\d+(?:\.\d+)?%?")


def check_language(language: str) -> None:
    """Raises ConfigError for a language whose protocol is not known."""
    if language not in ("en", "zh"):
        raise ConfigError(f"language {language!r}: expected en or zh")


def official(text: str, language: Language) -> str:
    """The text as the official script compares it.

    Chinese and ASCII punctuation is deleted but for the ASCII apostrophe, two spaces become one (once);
    English in small letters, Mandarin with a space between all characters (a space is a character too).
    """
    kept = text.translate(_deleted())
    kept = kept.replace("  ", " ")
    return " ".join(kept) if language == "zh" else kept.lower()


def lenient(text: str, language: Language) -> str:
    """The text with numbers, spellings and abbreviations in one form, then as `official`.

    English by Whisper's own normaliser; Mandarin with numbers as words, in simplified characters, Latin
    letters small, full-width characters as plain ones, without spaces between. Raises ConfigError when the
    extra `speech` is not installed.
    """
    if language == "en":
        words: str = _english()(text)
        return words
    import unicodedata

    plain = to_simplified(unicodedata.normalize("NFKC", text)).lower()
    spoken = _ARABIC_NUMBER.sub(lambda number: _as_words(number.group()), plain)
    return " ".join(character for character in spoken.translate(_deleted()) if not character.isspace())


def to_simplified(text: str) -> str:
    """Mandarin in simplified characters, as the protocol wants a recogniser's output (zhconv, zh-cn)."""
    try:
        import zhconv
    except ImportError:
        raise _missing("zhconv") from None
    simplified: str = zhconv.convert(text, "zh-cn")
    return simplified


@cache
def _deleted() -> dict[int, None]:
    from zhon.hanzi import punctuation

    return dict.fromkeys(map(ord, set(punctuation + string.punctuation) - {"'"}))


@cache
def _english() -> Any:
    try:
        from whisper_normalizer.english import EnglishTextNormalizer
    except ImportError:
        raise _missing("whisper-normalizer") from None
    return EnglishTextNormalizer()


def _as_words(number: str) -> str:
    try:
        import cn2an
    except ImportError:
        raise _missing("cn2an") from None
    try:
        words: str = cn2an.transform(number, "an2cn")
    except ValueError:  # more digits than the library has words for
        return number
    return words


def _missing(package: str) -> ConfigError:
    return ConfigError(f"scoring speech needs {package}: pip install 'omnieval[speech]'")
