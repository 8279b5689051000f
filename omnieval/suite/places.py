"""Where the data sets of a suite lie: named one by one, or in one folder under their usual names."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from omnieval.errors import ConfigError, DataError
from omnieval.wording import suggest

# What folders and archives of a benchmark are usually called, without case, hyphens and suffix.
_USUAL = {"seed-tts": ("seedttstestset", "seedttseval")}


def parse_places(texts: Sequence[str], known: Collection[str]) -> tuple[dict[str, str], str | None]:
    """(place by name, folder that holds all) of `--data` options: `NAME=PLACE` or a folder.

    known: names of members, recipes and benchmarks. Raises ConfigError.
    """
    named: dict[str, str] = {}
    folders: list[str] = []
    for text in texts:
        name, separator, place = text.partition("=")
        if separator and name in known:
            named[name] = place
        elif separator and not Path(text).exists():
            raise ConfigError(f"--data {text}: no member {name!r}{suggest(name, known)}")
        else:
            folders.append(text)
    if len(folders) > 1:
        raise ConfigError(
            f"--data names several folders ({', '.join(folders)}); give one that holds all data sets, or "
            "NAME=DIR for each member"
        )
    return named, folders[0] if folders else None


def place_of(
    names: Sequence[str], benchmark: str, named: Mapping[str, str], folder: str | None
) -> str | None:
    """The data set of a member, or None where nothing was given.

    names: the member's and its recipe's. Raises DataError where the folder does not hold it once.
    """
    for name in (*names, benchmark):
        if name in named:
            return named[name]
    if folder is None:
        return None
    place = Path(folder).expanduser()
    if not place.is_dir():
        raise DataError(f"{place}: no such folder; --data names one that holds the data sets")
    for wanted in ([_plain(name) for name in names], [_plain(benchmark), *_USUAL.get(benchmark, ())]):
        found = sorted(path for path in place.iterdir() if _plain(path.name) in wanted)
        if len(found) > 1:
            folders = [path for path in found if path.is_dir()]
            found = folders if len(folders) == 1 else found
        if len(found) > 1:
            raise DataError(
                f"{place}: several data sets for {names[0]} ({', '.join(path.name for path in found)}); "
                f"name one with --data {names[0]}=DIR"
            )
        if found:
            return str(found[0])
    there = ", ".join(sorted(path.name for path in place.iterdir())[:8]) or "nothing"
    raise DataError(
        f"{place}: no data set of {benchmark} in it (found {there}); name it with --data {names[0]}=DIR"
    )


def _plain(name: str) -> str:
    """A name as it is compared: `Daily-Omni`, `daily_omni` and `daily-omni.tar` are one."""
    return "".join(character for character in name.lower().removesuffix(".tar") if character.isalnum())
