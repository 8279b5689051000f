"""A cache can be measured, checked and kept to a size while others use it."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from omnieval.media.cache import MediaCache
from omnieval.media.cache_care import damaged, entries, prune, remove
from omnieval.media.embedded import write_embedded
from tests.command import omnieval

KEYS = [f"{i:02x}" * 32 for i in range(5)]


@pytest.fixture
def cache(tmp_path: Path) -> MediaCache:
    """Five entries of about 1 kB, of which number i was last used 10 - i hours ago."""
    made = MediaCache(tmp_path)
    for i, key in enumerate(KEYS):
        made.get_or_make(key, {}, lambda writer: writer.add("frame", ".jpg", "image/jpeg", b"x" * 1000))
        used = time.time() - (10 - i) * 3600
        os.utime(tmp_path / "v1" / key[:2] / key / "manifest.json", (used, used))
    return made


def keys(cache: MediaCache) -> list[str]:
    return sorted(entry.folder.name for entry in entries(cache))


def test_entries_are_counted_with_all_their_bytes(cache: MediaCache) -> None:
    sizes = {entry.folder.name: entry.size for entry in entries(cache)}
    assert sorted(sizes) == KEYS
    assert all(1000 < size < 2000 for size in sizes.values())


def test_what_was_used_longest_ago_goes_first(cache: MediaCache) -> None:
    size = next(entries(cache)).size
    result = prune(cache, most_bytes=3 * size)
    assert (result.removed, result.kept) == (2, 3)
    assert keys(cache) == KEYS[2:]
    assert result.left <= 3 * size


def test_reading_an_entry_makes_it_recent(cache: MediaCache) -> None:
    assert cache.get(KEYS[0]) is not None
    prune(cache, most_bytes=0)
    assert keys(cache) == [KEYS[0]]


def test_what_may_be_in_use_stays(cache: MediaCache) -> None:
    # At that moment entries 0 and 1 had not been used for more than an hour.
    result = prune(cache, most_bytes=0, now=time.time() - 7.5 * 3600)
    assert (result.removed, result.kept) == (2, 3)
    assert keys(cache) == KEYS[2:]


def test_nothing_goes_while_there_is_room(cache: MediaCache) -> None:
    assert prune(cache, most_bytes=10**9).removed == 0
    assert keys(cache) == KEYS


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (lambda entry: (entry / "frame-0000.jpg").write_bytes(b"y" * 1000), "other content"),
        (lambda entry: (entry / "frame-0000.jpg").unlink(), "frame-0000.jpg is missing"),
        (lambda entry: (entry / "manifest.json").write_text("{"), "cannot be read"),
        (lambda entry: (entry / "manifest.json").write_text('{"key": "other", "files": []}'), "belongs to"),
    ],
)
def test_damage_is_found_even_where_sizes_agree(
    damage: Callable[[Path], object], reason: str, cache: MediaCache
) -> None:
    assert list(damaged(cache)) == []
    folder = cache.root / "v1" / KEYS[2][:2] / KEYS[2]
    damage(folder)
    (found,) = damaged(cache)
    assert found.folder == folder
    assert reason in found.reason
    remove(cache, folder)
    assert list(damaged(cache)) == []
    assert len(keys(cache)) == 4


def test_the_commands(cache: MediaCache) -> None:
    where = ["--cache-dir", str(cache.root)]
    assert omnieval("cache", "path", *where).stdout.strip() == str(cache.root)
    assert omnieval("cache", "path", OMNIEVAL_CACHE_DIR="/some/where").stdout.strip() == "/some/where"
    assert "5 entries" in omnieval("cache", "info", *where).stdout
    assert omnieval("cache", "verify", *where).stdout == "5 entries, all whole\n"
    (cache.root / "v1" / KEYS[0][:2] / KEYS[0] / "frame-0000.jpg").write_bytes(b"z" * 1000)
    found = omnieval("cache", "verify", *where)
    assert found.returncode == 1
    assert f"damaged: {cache.root / 'v1' / KEYS[0][:2] / KEYS[0]}: frame-0000.jpg" in found.stdout
    assert omnieval("cache", "verify", "--remove", *where).returncode == 0
    assert omnieval("cache", "verify", *where).stdout == "4 entries, all whole\n"
    pruned = omnieval("cache", "prune", "--max-size", "3kB", *where)
    assert pruned.stdout.startswith("removed 2 entries")
    wrong = omnieval("cache", "prune", "--max-size", "lots", *where)
    assert wrong.returncode == 2
    assert "20GB" in wrong.stderr


def test_media_that_lay_in_a_table_are_counted_and_stay_for_a_day(cache: MediaCache) -> None:
    for content, hours in ((b"a" * 3000, 2), (b"b" * 4000, 30)):
        path = write_embedded(cache.root, content, ".png")
        used = time.time() - hours * 3600
        os.utime(path, (used, used))
    assert "7 entries" in omnieval("cache", "info", "--cache-dir", str(cache.root)).stdout
    assert list(damaged(cache)) == []
    result = prune(cache, most_bytes=0)
    assert (result.removed, result.kept, result.left) == (6, 1, 3000)
    write_embedded(cache.root, b"a" * 3000, ".png")
    (kept,) = entries(cache)
    assert time.time() - kept.used < 60
    kept.folder.write_bytes(b"c" * 3000)
    (found,) = damaged(cache)
    assert "other content" in found.reason


def test_a_damaged_file_of_a_table_is_made_anew(cache: MediaCache) -> None:
    path = write_embedded(cache.root, b"a" * 100, ".png")
    path.write_bytes(b"b" * 100)
    assert "1 damaged entry (to remove" in omnieval("cache", "verify", "--cache-dir", str(cache.root)).stdout
    assert write_embedded(cache.root, b"a" * 100, ".png") == path
    assert path.read_bytes() == b"a" * 100
