"""Text-to-speech over HTTP: POST /api/tts with a text as the body returns a WAV file.

Sends each text to the Wyoming protocol server. Requires only the Python standard library.
  POST /api/tts?voice=<name>&speaker=<name>   text/plain in UTF-8; voice and speaker are optional
  GET  /api/voices                            voices of the protocol server
  GET  /health                                200 if the protocol server responds, otherwise 503
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
# Seconds. Loading a voice takes a while, and downloading one takes longer.
PATIENCE = 300


class Refused(Exception):
    """An error for the client, such as one that the protocol server returned."""


def write_event(stream, kind, data):
    stream.write(json.dumps({"type": kind, "data": data}).encode() + b"\n")
    stream.flush()


def read_event(stream):
    """Reads one event: a line of JSON, which contains the lengths of the data and the payload that follow."""
    line = stream.readline(1_000_000)
    if not line.endswith(b"\n"):
        raise ConnectionError("connection closed")
    header = json.loads(line)
    data = header.get("data") or {}
    if header.get("data_length"):
        data.update(json.loads(stream.read(header["data_length"])))
    payload = stream.read(header["payload_length"]) if header.get("payload_length") else b""
    return header["type"], data, payload


def ask(kind, data, patience=PATIENCE):
    """Sends one event and yields the events of the response."""
    with socket.create_connection((HOST, PORT), timeout=10) as connection:
        connection.settimeout(patience)
        with connection.makefile("rwb") as stream:
            write_event(stream, kind, data)
            while True:
                kind_read, data_read, payload = read_event(stream)
                if kind_read == "error":
                    raise Refused(data_read.get("text") or "The protocol server returned an error.")
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
        raise Refused("The protocol server returned no audio.")
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
            self.answer(503, {"error": f"No valid response from the protocol server: {failure}"})

    def do_GET(self):
        path = urlsplit(self.path).path
        if path == "/health":
            self.attempt(lambda: self.answer(200, {"status": "ok", "voices": len(voices())}))
        elif path == "/api/voices":
            self.attempt(lambda: self.answer(200, voices()))
        else:
            self.answer(404, {"error": "Not found. Use POST /api/tts, GET /api/voices or GET /health."})

    def do_POST(self):
        address = urlsplit(self.path)
        # An unread rest of the body would be parsed as the next request, so the connection is closed. A body that is too long
        # is read up to a limit, so that the client can read the response.
        self.close_connection = True
        length = self.headers.get("Content-Length", "")
        body = self.rfile.read(min(int(length), 10 * LONGEST_TEXT)) if length.isdigit() else b""
        if address.path != "/api/tts":
            self.answer(404, {"error": "Not found. Use POST /api/tts."})
            return
        if not length.isdigit() or int(length) > LONGEST_TEXT:
            self.answer(413 if length.isdigit() else 411, {"error": f"Content-Length is required and must not exceed {LONGEST_TEXT} bytes."})
            return
        text = body.decode("utf-8", "replace").strip()
        query = parse_qs(address.query)
        if text == "":
            self.answer(400, {"error": "The request body contains no text."})
            return
        voice, speaker = (query.get(name, [""])[0] for name in ("voice", "speaker"))
        self.attempt(lambda: self.answer(200, speak(text, voice, speaker), "audio/wav"))


if __name__ == "__main__":
    ThreadingHTTPServer(("", LISTEN), Handler).serve_forever()
