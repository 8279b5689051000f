"""A data set that is named by its place on a hub, as a folder on this machine."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from omnieval.errors import ConfigError, DataError

_PREFIX = "hf:"
_NAME = re.compile(r"[\w.-]+/[\w.-]+")


def hub_id(data: Path) -> str | None:
    """`organisation/name` where a data path is `hf:organisation/name`, else None.

    Raises ConfigError for a name in another form.
    """
    text = str(data)
    if not text.startswith(_PREFIX):
        return None
    name = text.removeprefix(_PREFIX)
    if not _NAME.fullmatch(name):
        raise ConfigError(f"data {text!r}: expected hf:ORGANISATION/NAME, for example hf:lmms-lab/Video-MME")
    return name


def snapshot_of(folder: Path) -> Path:
    """The newest snapshot where the folder is a data set in the hub's cache, else the folder."""
    snapshots = [path for path in folder.glob("snapshots/*") if path.is_dir()]
    return max(snapshots, key=lambda path: path.stat().st_mtime, default=folder)


def blobs_of(folder: Path) -> Path | None:
    """Where the files of a snapshot of the hub's cache really lie, since they are links in it; None for any
    other folder."""
    for place in (folder, *folder.parents):
        if place.parent.name == "snapshots":
            blobs = place.parent.parent / "blobs"
            return blobs if blobs.is_dir() else None
    return None


def local_folder(data: Path, *, patterns: Sequence[str]) -> Path:
    """The path itself, or for a hub id the folder that its files were fetched into (once, resumable, with
    the hub library's own settings for mirrors and offline use).

    patterns: which files of the repository are needed. Raises DataError when it cannot be fetched.
    """
    name = hub_id(data)
    if name is None:
        return data
    try:
        from huggingface_hub import snapshot_download
    except ImportError:
        raise ConfigError(f"{data}: fetching from the hub needs: pip install 'omnieval[hub]'") from None
    try:
        return Path(snapshot_download(repo_id=name, repo_type="dataset", allow_patterns=list(patterns)))
    except Exception as error:
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise DataError(
            f"{data}: cannot be fetched ({reason}); check the name and the network (HF_ENDPOINT names a "
            "mirror), or fetch the files by hand and give their folder with --data"
        ) from error


def hub_rows(name: str, split: str | None) -> list[Any]:
    """The rows of a hub's data set by the library `datasets`, media undecoded (bytes or paths).

    split: which one; None takes `test`, or the only one. Raises ConfigError for a split that is not there,
    DataError when the data set cannot be had.
    """
    try:
        import datasets
    except ImportError:
        raise ConfigError(f"hf:{name}: fetching from the hub needs: pip install 'omnieval[hub]'") from None
    try:
        loaded = datasets.load_dataset(name)
    except Exception as error:
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise DataError(
            f"hf:{name}: cannot be loaded ({reason}); check the name and the network (HF_ENDPOINT names a "
            "mirror), or fetch the files by hand and give one with --data"
        ) from error
    return split_rows(loaded, f"hf:{name}", split)


def split_rows(loaded: Any, name: str, split: str | None) -> list[Any]:
    """The rows of one split of a `datasets.DatasetDict`."""
    import datasets

    splits = list(loaded)
    if split is None:
        split = "test" if "test" in splits else splits[0] if len(splits) == 1 else None
    if split not in splits:
        wanted = f"no split {split!r}" if split else "several splits"
        raise ConfigError(f"{name}: {wanted}; set split to one of {', '.join(splits)}")
    table = loaded[split]
    media = tuple(getattr(datasets, kind) for kind in ("Audio", "Image", "Video") if hasattr(datasets, kind))
    for column, feature in table.features.items():
        inner = getattr(feature, "feature", feature)
        if isinstance(feature, media):
            table = table.cast_column(column, type(feature)(decode=False))
        elif isinstance(inner, media):
            table = table.cast_column(column, datasets.Sequence(type(inner)(decode=False)))
    return [dict(row) for row in table]
