"""A stand-in for `llama-omni-server`: one session at a time, its state in the server, sounds written as files.

`faults` says what befalls the next requests of a path, in turn; `said` holds every request's path and body.
"""

from __future__ import annotations

import json
import socket
import struct
import threading
import time
from collections import defaultdict, deque
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Any

from tests.standins.llamacpp_programs import tone

METRICS = {
    "event": "metrics", "vpm_ms": 12.5, "apm_ms": 3.0, "llm_prefill_ms": 40.0, "cost_llm_ms": 80.0,
    "cost_tts_ms": 60.0, "cost_token2wav_ms": 30.0,
}  # fmt: skip


class LlamaCppServerStandIn:
    """Use as a context manager. marks_end: leaves `generation_done.flag` behind the last sound."""

    def __init__(self, *, engine: str = "comni", marks_end: bool = True) -> None:
        self.engine, self.marks_end = engine, marks_end
        self.faults: dict[str, deque[str]] = defaultdict(deque)
        self.said: list[tuple[str, dict[str, Any]]] = []
        self.prompt = ""
        self.turns = 0
        self.session: dict[str, Any] | None = None
        self.vanished = 0
        owner = self

        class Handler(_Handler):
            server_state = owner

        self._handler = Handler
        self._server = self._bound(0)
        self.base_url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def _bound(self, port: int) -> ThreadingHTTPServer:
        server = ThreadingHTTPServer(("127.0.0.1", port), self._handler)
        server.daemon_threads = True
        return server

    def _serve(self) -> None:
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()

    def vanish(self, for_s: float = 0.5) -> None:
        """Refuse connections for so long, and come back without a session."""
        self._server.shutdown()
        self._server.server_close()
        time.sleep(for_s)
        self.session, self.vanished = None, self.vanished + 1
        self._server = self._bound(self._server.server_address[1])
        self._serve()

    def __enter__(self) -> LlamaCppServerStandIn:
        self._serve()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_state: LlamaCppServerStandIn

    def log_message(self, *_: object) -> None:
        return

    def do_GET(self) -> None:
        self._json({"status": "ok", "engine": self.server_state.engine})

    def do_POST(self) -> None:
        state = self.server_state
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        path = self.path.removeprefix("/v1/stream/")
        state.said.append((path, body))
        fault = state.faults[path].popleft() if state.faults[path] else ""
        if fault == "reset":
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.connection.close()
            self.close_connection = True
        elif fault == "hang":
            time.sleep(20)
        elif fault == "vanish":
            self.close_connection = True
            threading.Thread(target=state.vanish, daemon=True).start()
        elif fault == "garbage":
            self._json("<html>", raw=b"<html><title>Login</title>")
        elif fault == "error":
            self._json({"error": {"message": "CANN out of memory"}}, status=500)
        elif fault == "no success":
            self._json({"success": False})
        elif path == "decode":
            self._decode(body, fault)
        else:
            if path == "omni_init":
                state.session, state.turns, state.prompt = body, 0, ""
            else:
                assert body["cnt"] == state.turns, "turns come in order"
                for key in ("audio_path_prefix", "img_path_prefix"):
                    assert not body[key] or Path(body[key]).is_file()
                state.turns += 1
                state.prompt += body["text"]
            self._json({"success": True})

    def _decode(self, body: dict[str, Any], fault: str) -> None:
        state = self.server_state
        assert state.session is not None
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        words = ["__", "listens"] if fault == "listen" else ["B", " is right"]
        for number, word in enumerate(words):
            self._event({"content": "" if fault == "listen" else word, "stop": number == 1,
                         "is_listen": fault == "listen", "end_of_turn": number == 1})  # fmt: skip
            if number == 0 and fault == "die":
                self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                self.connection.close()
                self.close_connection = True
                return
            if number == 0 and fault == "hang midway":
                time.sleep(20)
            if number == 0 and fault == "noise":
                self._chunk(b"data: {half\n\n")
            if number == 0 and fault == "error midway":
                self._event({"error": {"message": "kv cache is full"}})
            if state.session["use_tts"] and fault != "silent":
                self._sound(Path(state.session["output_dir"]), number, fault)
        self._event(METRICS)
        if fault != "no end":
            self._chunk(b"data: [DONE]\n\n")
        self._chunk(b"")
        if state.session["use_tts"] and state.marks_end:
            folder = Path(state.session["output_dir"]) / "round_000" / "tts_wav"
            folder.mkdir(parents=True, exist_ok=True)
            (folder / "generation_done.flag").write_text("1\n")

    def _sound(self, out: Path, number: int, fault: str) -> None:
        folder = out / "round_000" / "tts_wav"
        folder.mkdir(parents=True, exist_ok=True)
        content = b"<html>, and no sound" * 9 if fault == "garbage sound" else tone(10 * (number + 1))
        with (folder / f"wav_{number + 9}.wav").open("wb") as file:  # 9, 10: not in the order of letters
            file.write(content[:100])
            file.flush()
            time.sleep(0.1)
            if fault != "cut sound":
                file.write(content[100:])

    def _event(self, content: dict[str, Any]) -> None:
        self._chunk(b"data: " + json.dumps(content).encode() + b"\n\n")

    def _chunk(self, data: bytes) -> None:
        self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
        self.wfile.flush()

    def _json(self, content: Any, status: int = 200, raw: bytes | None = None) -> None:
        data = json.dumps(content).encode() if raw is None else raw
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)
