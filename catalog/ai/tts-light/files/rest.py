"""Speaks a text over HTTP: POST /api/tts with the text as body answers a WAV file.

The work is done by the protocol server beside it (Wyoming). Python's own library is all it needs.
  POST /api/tts?voice=<name>&speaker=<name>   text/plain in UTF-8; voice and speaker may be left out
  GET  /api/voices                            the voices that the protocol server offers
  GET  /health                                200 while the protocol server answers, otherwise 503
"""

import io
import json
import os
import socket
import wave
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

HOST = os.environ.get("WYOMING_HOST", "protocol")
PORT = int(os.environ.get("WYOMING_PORT", "5000"))
LISTEN = int(os.environ.get("REST_PORT", "5000"))
LONGEST_TEXT = 100_000
# Loading a voice takes a while, fetching one longer.
PATIENCE = 300


class Refused(Exception):
    """The protocol server said no, and why."""


def write_event(stream, kind, data):
    stream.write(json.dumps({"type": kind, "data": data}).encode() + b"\n")
    stream.flush()


def read_event(stream):
    """One event: a line of JSON, then as many bytes of further data and of payload as it says."""
    line = stream.readline(1_000_000)
    if not line.endswith(b"\n"):
        raise ConnectionError("the protocol server closed the connection")
    header = json.loads(line)
    data = header.get("data") or {}
    if header.get("data_length"):
        data.update(json.loads(stream.read(header["data_length"])))
    payload = stream.read(header["payload_length"]) if header.get("payload_length") else b""
    return header["type"], data, payload


def ask(kind, data, patience=PATIENCE):
    """Events that answer one."""
    with socket.create_connection((HOST, PORT), timeout=10) as connection:
        connection.settimeout(patience)
        with connection.makefile("rwb") as stream:
            write_event(stream, kind, data)
            while True:
                kind_read, data_read, payload = read_event(stream)
                if kind_read == "error":
                    raise Refused(data_read.get("text") or "refused")
                yield kind_read, data_read, payload


def voices():
    for kind, data, _ in ask("describe", {}, patience=5):
        if kind == "info":
            return [voice for program in data.get("tts", []) for voice in program.get("voices", [])]
    return []


def speak(text, voice, speaker):
    data = {"text": text}
    wanted = {key: value for key, value in (("name", voice), ("speaker", speaker)) if value}
    if wanted:
        data["voice"] = wanted
    sound = io.BytesIO()
    writer = None
    for kind, about, payload in ask("synthesize", data):
        if kind in ("audio-start", "audio-chunk") and writer is None:
            writer = wave.open(sound, "wb")
            writer.setframerate(about["rate"])
            writer.setsampwidth(about["width"])
            writer.setnchannels(about["channels"])
        if kind == "audio-chunk":
            writer.writeframes(payload)
        if kind == "audio-stop":
            break
    if writer is None:
        raise Refused("nothing to say")
    writer.close()
    return sound.getvalue()


class Handler(BaseHTTPRequestHandler):
    server_version = "piper-rest"
    protocol_version = "HTTP/1.1"

    def answer(self, status, body, kind="application/json"):
        if not isinstance(body, bytes):
            body = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def attempt(self, work):
        try:
            work()
        except Refused as refused:
            self.answer(400, {"error": str(refused)})
        except (OSError, ValueError, KeyError) as failure:
            self.answer(503, {"error": f"the protocol server does not answer: {failure}"})

    def do_GET(self):
        path = urlsplit(self.path).path
        if path == "/health":
            self.attempt(lambda: self.answer(200, {"status": "ok", "voices": len(voices())}))
        elif path == "/api/voices":
            self.attempt(lambda: self.answer(200, voices()))
        else:
            self.answer(404, {"error": "there is POST /api/tts, GET /api/voices and GET /health"})

    def do_POST(self):
        address = urlsplit(self.path)
        # What is left of a body would be taken for the next request; what is too long for us is read as far as is decent.
        self.close_connection = True
        length = self.headers.get("Content-Length", "")
        body = self.rfile.read(min(int(length), 10 * LONGEST_TEXT)) if length.isdigit() else b""
        if address.path != "/api/tts":
            self.answer(404, {"error": "there is POST /api/tts"})
            return
        if not length.isdigit() or int(length) > LONGEST_TEXT:
            self.answer(413 if length.isdigit() else 411, {"error": f"send Content-Length, up to {LONGEST_TEXT}"})
            return
        text = body.decode("utf-8", "replace").strip()
        query = parse_qs(address.query)
        if text == "":
            self.answer(400, {"error": "the body is the text to speak"})
            return
        voice, speaker = (query.get(name, [""])[0] for name in ("voice", "speaker"))
        self.attempt(lambda: self.answer(200, speak(text, voice, speaker), "audio/wav"))


if __name__ == "__main__":
    ThreadingHTTPServer(("", LISTEN), Handler).serve_forever()
