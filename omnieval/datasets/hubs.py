"""The two hubs behind one face, each by its own library with its own settings (mirror, token, offline)."""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from omnieval.errors import ConfigError


@dataclass(frozen=True, slots=True)
class Listing:
    """What a repository holds. revision: to fetch exactly this. files: size in bytes by path, None where the
    hub does not say."""

    revision: str
    files: Mapping[str, int | None]


class HubClient(Protocol):
    """settings: the names of the environment variables that steer the library, for messages."""

    name: str
    settings: str

    def listing(self, repo: str, revision: str | None) -> Listing:
        """What the repository holds. Raises the library's errors."""

    def fetch(self, repo: str, listing: Listing, patterns: Sequence[str], folder: Path) -> None:
        """Put the matching files into a folder, going on where an earlier call stopped. Raises the library's
        errors."""

    def reason(self, error: Exception) -> str:
        """What an error of the library means for the repository, and what to do."""


class HuggingFace:
    """By huggingface_hub, with HF_ENDPOINT, HF_TOKEN and HF_HUB_OFFLINE. Raises ConfigError without it."""

    name = "huggingface"
    settings = "HF_ENDPOINT names a mirror"

    def __init__(self) -> None:
        try:
            import huggingface_hub
        except ImportError:
            raise ConfigError("fetching from huggingface needs: pip install 'omnieval[hub]'") from None
        self._library: Any = huggingface_hub

    def listing(self, repo: str, revision: str | None) -> Listing:
        info = self._library.HfApi().dataset_info(repo, revision=revision, files_metadata=True)
        return Listing(str(info.sha), {file.rfilename: file.size for file in info.siblings or ()})

    def fetch(self, repo: str, listing: Listing, patterns: Sequence[str], folder: Path) -> None:
        self._library.snapshot_download(
            repo,
            repo_type="dataset",
            revision=listing.revision,
            local_dir=folder,
            allow_patterns=list(patterns),
        )

    def reason(self, error: Exception) -> str:
        errors = self._library.errors
        if isinstance(error, errors.GatedRepoError):
            return "it is gated: accept its terms on the hub, then set HF_TOKEN"
        if isinstance(error, errors.RevisionNotFoundError):
            return "it has no such revision"
        if isinstance(error, errors.RepositoryNotFoundError):
            return "it is not found, or private: check the name, or set HF_TOKEN"
        if isinstance(error, errors.OfflineModeIsEnabled):
            return "offline mode is on: unset HF_HUB_OFFLINE"
        return first_line(error)


class ModelScope:
    """By modelscope_hub, with MODELSCOPE_ENDPOINT and MODELSCOPE_API_TOKEN. Raises ConfigError without it."""

    name = "modelscope"
    settings = "MODELSCOPE_ENDPOINT names a mirror"

    def __init__(self) -> None:
        try:
            from modelscope_hub import errors
            from modelscope_hub.api import HubApi
        except ImportError:
            raise ConfigError("fetching from modelscope needs: pip install 'omnieval[modelscope]'") from None
        if "MODELSCOPE_LOG_LEVEL" not in os.environ:
            logging.getLogger("modelscope_hub").setLevel(logging.WARNING)
        self._errors: Any = errors
        self._api: Any = HubApi()

    def listing(self, repo: str, revision: str | None) -> Listing:
        revision = revision or "master"
        found = self._api.list_repo_files(repo, "dataset", revision=revision)
        return Listing(revision, {file.path: file.size for file in found if file.type != "tree"})

    def fetch(self, repo: str, listing: Listing, patterns: Sequence[str], folder: Path) -> None:
        self._api.download_repo(
            repo, "dataset", revision=listing.revision, local_dir=folder, allow_patterns=list(patterns)
        )

    def reason(self, error: Exception) -> str:
        if isinstance(error, self._errors.AuthenticationError):
            return "it needs a login: set MODELSCOPE_API_TOKEN"
        if isinstance(error, self._errors.PermissionDeniedError):
            return "it is gated: ask for access on the hub, then set MODELSCOPE_API_TOKEN"
        if isinstance(error, self._errors.NotExistError):
            return "it is not found, or private: check the name and revision, or set MODELSCOPE_API_TOKEN"
        if isinstance(error, self._errors.NetworkError):
            told = re.findall(r"\[Errno -?\d+\] [\w ]+", str(error))
            return f"no connection: {told[-1] if told else first_line(error)}"
        return first_line(error)


HUBS: Mapping[str, type[HubClient]] = {"modelscope": ModelScope, "huggingface": HuggingFace}


def first_line(error: Exception) -> str:
    """An error in a line."""
    return str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
