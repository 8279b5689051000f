"""The application: URLs to pages. Every file is served by its number in a sample, never by a path."""

from __future__ import annotations

import contextlib
import sqlite3
import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Iterator
from importlib.resources import files
from pathlib import Path

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from omnieval.engine.workers import MediaWorkers
from omnieval.errors import OmnievalError
from omnieval.runlog import Run
from omnieval.view.differences import answers, utterances
from omnieval.view.folders import Folder, RunPlace
from omnieval.view.guard import Guard
from omnieval.view.headlines import blocks, headline
from omnieval.view.index import Index, Indexer, NotReadyError
from omnieval.view.material import Material, cache_of, material, plain
from omnieval.view.pages import page_of_text, page_of_waiting, samples_page
from omnieval.view.query import Found, Query, tallies
from omnieval.view.runs_page import PAGE, runs_page
from omnieval.view.sample_page import sample_page

_STATIC = {
    "style.css": ("omnieval.report.html", "style.css", "text/css"),
    "view.css": ("omnieval.view", "static/view.css", "text/css"),
    "view.js": ("omnieval.view", "static/view.js", "text/javascript"),
    "icon.svg": ("omnieval.view", "static/icon.svg", "image/svg+xml"),
}
# Samples whose files are known without reading their records again, and runs in a list to choose from.
_REMEMBERED, _CHOICES = 32, 200


def make_app(root: Path, folder: Path, *, token: str, port: int, remote: bool = False) -> Starlette:
    """The viewer of a folder of runs. folder: where indices are kept. port: under which browsers come."""
    viewer = _Viewer(root, folder)
    guard = Middleware(Guard, token=token, port=port, remote=remote)
    sample = "/run/{run}/sample/{n:int}"
    return Starlette(
        routes=[
            Route("/", viewer.runs),
            Route("/run/{run}", viewer.samples),
            Route("/run/{run}/against/{other}", viewer.against),
            Route(sample, viewer.sample),
            Route(sample + "/media/{k:int}", viewer.media),
            Route(sample + "/prepare", viewer.prepare, methods=["POST"]),
            Route("/static/{name}", _static),
        ],
        middleware=[guard],
        exception_handlers={
            HTTPException: _said, OmnievalError: _said, sqlite3.Error: _said, OSError: _said,
            NotReadyError: _waits,
        },
        lifespan=viewer.living,
    )  # fmt: skip


class _Viewer:
    def __init__(self, root: Path, folder: Path) -> None:
        self._folder = Folder(root)
        self._indexer = Indexer(folder)
        self._shown: OrderedDict[tuple[Path, int], Material] = OrderedDict()

    @contextlib.asynccontextmanager
    async def living(self, app: Starlette) -> AsyncIterator[None]:
        """Around the server's life."""
        del app
        yield
        self._indexer.close()

    def runs(self, request: Request) -> Response:
        query = Query.read(request.query_params)
        found = [
            place
            for place in self._folder.runs().values()
            if query.text.casefold() in place.name.casefold()
            or (place.group is not None and query.text.casefold() in place.group.name.casefold())
        ]
        start = query.page * PAGE
        shown = found[start : start + PAGE]
        remarks = self._folder.unreadable()
        page = runs_page(self._folder.root, list(blocks(shown)), query, len(shown), len(found), remarks)
        return HTMLResponse(page)

    def samples(self, request: Request) -> Response:
        place = self._place(request)
        query = Query.read(request.query_params)
        about = headline(place.path)
        other = self._other(query.other)
        with self._index(place) as index:
            found = Found(index.rows, query, other)
            facets = index.rows.execute("SELECT * FROM facet ORDER BY key, value LIMIT 500").fetchall()
            unmet = Query.unmet(request.query_params, compared=other is not None)
            remarks = [unmet, about.remark, *_remarks(index)]
            count, rows, counts = found.count(), found.page(), tallies(index.rows)
        if not counts:
            remarks.append("No samples are to be found in its samples.jsonl.")
        others = self._folder.others(place, _CHOICES)
        return HTMLResponse(samples_page(place, about, query, rows, count, counts, facets, others, remarks))

    def against(self, request: Request) -> Response:
        place = self._place(request)
        query = Query(other=request.path_params["other"])
        other = self._folder.run(query.other)
        if other is None:
            raise HTTPException(404, "No such run to compare with.")
        with self._index(place) as index:
            Found(index.rows, query, self._other(query.other))  # joins the other one
            differ = utterances if headline(place.path).speech else answers
            return HTMLResponse(differ(index.rows, place, other, query))

    def sample(self, request: Request) -> Response:
        place = self._place(request)
        n, query = request.path_params["n"], Query.read(request.query_params)
        with self._index(place) as index:
            shown = self._material(place, index, n)
            found = Found(index.rows, query, self._other(query.other))
            base = f"/run/{place.id}/sample"
            near = [
                None if m is None else f"{base}/{m}{query.url()}"
                for m in (found.beside(n, after=False), found.beside(n, after=True))
            ]
        everything = "all" in request.query_params
        up = f"/run/{place.id}{query.url()}"
        return HTMLResponse(sample_page(place.name, f"{base}/{n}", shown, near[0], near[1], up, everything))

    def media(self, request: Request) -> Response:
        place = self._place(request)
        n, k = request.path_params["n"], request.path_params["k"]
        shown = self._shown.get((place.path, n))
        if shown is None:
            with self._index(place) as index:
                shown = self._material(place, index, n)
        if k >= len(shown.files):
            raise HTTPException(404, "No such file any more.")
        file = shown.files[k]
        path = plain(file, shown.config)
        if not path.is_file():
            raise HTTPException(404, "No such file any more.")
        path.open("rb").close()  # said here, where it may not be read
        return FileResponse(path, media_type=file.mime)

    async def prepare(self, request: Request) -> Response:
        """Make the frames and sounds of a sample through the project's own preparation."""

        def look() -> Material:
            place = self._place(request)
            with self._index(place) as index:
                return self._material(place, index, request.path_params["n"])

        shown = await run_in_threadpool(look)
        if shown.plan is not None and shown.config is not None and shown.prepared is None:
            workers = MediaWorkers.of(shown.config, cache_of(shown.config))
            try:
                await workers.prepare(shown.plan)
            finally:
                await workers.close()
        return RedirectResponse(request.url.path.removesuffix("/prepare"), status_code=303)

    def _place(self, request: Request) -> RunPlace:
        place = self._folder.run(request.path_params["run"])
        if place is None:
            raise HTTPException(404, "No such run any more.")
        return place

    @contextlib.contextmanager
    def _index(self, place: RunPlace) -> Iterator[Index]:
        index = self._indexer.open(place.path)
        with contextlib.closing(index.rows):
            yield index

    def _other(self, name: str) -> Path | None:
        """The index of the run to compare with, where there is one."""
        other = self._folder.run(name) if name else None
        if other is None:
            return None
        self._indexer.open(other.path).rows.close()
        return self._indexer.place(other.path)

    def _material(self, place: RunPlace, index: Index, n: int) -> Material:
        found = material(Run.load(place.path), index.rows, n) if n < 2**62 else None
        if found is None:
            raise HTTPException(404, "No such sample any more; go back to the list.")
        self._shown[place.path, n] = found
        while len(self._shown) > _REMEMBERED:
            self._shown.popitem(last=False)
        return found


def _remarks(index: Index) -> Iterator[str]:
    if index.damaged:
        yield f"{index.damaged} damaged lines of the run's files are left out."
    if index.outdated:
        yield f"As the run was {_ago(time.time() - index.built)} ago; it has changed since. Reload for more."
    if index.problem is not None:
        yield index.problem


def _ago(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"


def _static(request: Request) -> Response:
    name = request.path_params["name"]
    if name not in _STATIC:
        raise HTTPException(404, "No such file.")
    package, path, kind = _STATIC[name]
    return Response(files(package).joinpath(path).read_bytes(), media_type=kind)


def _said(request: Request, error: Exception) -> Response:
    """Whatever a damaged or vanished run brings is said, and is no fault of the server."""
    del request
    status = error.status_code if isinstance(error, HTTPException) else 404
    text = str(error.detail) if isinstance(error, HTTPException) else str(error)
    return HTMLResponse(page_of_text("Not to be shown", text), status_code=status)


def _waits(request: Request, error: Exception) -> Response:
    """How far an index is; the page asks again by itself."""
    share = error.share if isinstance(error, NotReadyError) else 0.0
    again = {"refresh": "1"} if request.method == "GET" else {}
    return HTMLResponse(page_of_waiting(share), status_code=503, headers={"retry-after": "1", **again})
