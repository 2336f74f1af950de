"""Stands in for Vaultwarden: its paths, its data folder, and what its environment decides, as far as a stack that is operated shows them.

Accounts are rows of a real SQLite database in WAL mode, and the signing key is a file beside it: what is backed up, lost or restored can be
told by asking. Encryption, clients and the web vault are not in here.
"""

import datetime
import email.utils
import hashlib
import hmac
import http.cookies
import http.server
import json
import os
import pathlib
import secrets
import signal
import sqlite3
import sys
import threading
import urllib.parse

data = pathlib.Path(os.environ.get("DATA_FOLDER", "/data"))
version = os.environ.get("VAULTWARDEN_VERSION", "0.0.0")
address = os.environ.get("ROCKET_ADDRESS", "0.0.0.0")
port = int(os.environ.get("ROCKET_PORT", "80"))
admin_token = os.environ.get("ADMIN_TOKEN", "")
database_lock = threading.Lock()


def open_database():
    data.mkdir(parents=True, exist_ok=True)
    (data / "attachments").mkdir(exist_ok=True)
    (data / "icon_cache").mkdir(exist_ok=True)
    key = data / "rsa_key.pem"
    if not key.exists():
        key.write_text(f"-----BEGIN PRIVATE KEY-----\n{secrets.token_urlsafe(48)}\n-----END PRIVATE KEY-----\n")
        key.chmod(0o600)
    database = sqlite3.connect(data / "db.sqlite3", check_same_thread=False, isolation_level=None)
    database.execute("PRAGMA journal_mode=WAL")
    database.execute("CREATE TABLE IF NOT EXISTS users (uuid TEXT PRIMARY KEY, email TEXT UNIQUE NOT NULL, created_at TEXT NOT NULL)")
    database.execute("CREATE TABLE IF NOT EXISTS __diesel_schema_migrations (version TEXT PRIMARY KEY)")
    # Each release migrates, and none goes back.
    database.execute("INSERT OR IGNORE INTO __diesel_schema_migrations VALUES (?)", (version,))
    return database


database = open_database()
cookie_key = (data / "rsa_key.pem").read_bytes()


def now():
    return datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def signups_allowed():
    try:
        saved = json.loads((data / "config.json").read_text())
    except FileNotFoundError:
        saved = {}
    return str(saved.get("signups_allowed", os.environ.get("SIGNUPS_ALLOWED", "true"))).lower() == "true"


def admin_cookie():
    return hmac.new(cookie_key, admin_token.encode(), hashlib.sha256).hexdigest()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_version = "Rocket"
    sys_version = ""

    def send(self, status, body, kind="application/json", **headers):
        payload = (json.dumps(body) if kind == "application/json" else body).encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(payload)))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(payload)

    def page(self, status, text, **headers):
        self.send(status, f"<!doctype html><title>Vaultwarden</title><p>{text}</p>", "text/html; charset=utf-8", **headers)

    def refuse(self, message, status=400):
        self.send(status, {"message": message, "errorModel": {"message": message, "object": "error"}, "object": "error"})

    def do_HEAD(self):
        self.do_GET()

    def do_GET(self):
        path = urllib.parse.urlsplit(self.path).path
        if path in ("/alive", "/api/alive"):
            try:
                with database_lock:
                    database.execute("SELECT 1 FROM users LIMIT 1").fetchone()
            except sqlite3.Error as error:
                return self.refuse(f"Error getting DB connection: {error}", 503)
            return self.send(200, now())
        if path == "/api/version":
            return self.send(200, version)
        if path == "/api/config":
            return self.send(
                200,
                {
                    "version": "2025.12.0",
                    "gitHash": "",
                    "server": {"name": "Vaultwarden", "url": "https://github.com/dani-garcia/vaultwarden"},
                    "settings": {"disableUserRegistration": not signups_allowed()},
                    "environment": {"vault": os.environ.get("DOMAIN", "http://localhost"), "api": "", "identity": "", "notifications": ""},
                    "object": "config",
                },
            )
        if path == "/notifications/hub":
            return self.refuse("Bad Request")
        if path.startswith("/admin"):
            if not admin_token:
                return self.page(404, "The admin panel is disabled, please configure the 'ADMIN_TOKEN' variable to enable it")
            cookie = http.cookies.SimpleCookie(self.headers.get("Cookie", "")).get("VW_ADMIN")
            if cookie is None or not hmac.compare_digest(cookie.value, admin_cookie()):
                return self.page(200, "Authentication key needed to continue")
            if path == "/admin/users":
                with database_lock:
                    rows = database.execute("SELECT uuid, email, created_at FROM users ORDER BY created_at").fetchall()
                return self.send(200, [{"id": id, "email": email, "createdAt": created} for id, email, created in rows])
            return self.page(200, "Vaultwarden Admin Panel")
        if path == "/":
            return self.page(200, "Vaultwarden Web Vault")
        self.page(404, "Not found")

    def do_POST(self):
        path = urllib.parse.urlsplit(self.path).path
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if path == "/admin":
            given = urllib.parse.parse_qs(body.decode()).get("token", [""])[0]
            if not admin_token:
                return self.page(404, "Not found")
            if not hmac.compare_digest(given, admin_token):
                return self.page(401, "Invalid admin token, please try again.")
            cookie = f"VW_ADMIN={admin_cookie()}; HttpOnly; SameSite=Strict; Path=/admin; Max-Age=1200"
            return self.page(303, "See other", Location="/admin", Set_Cookie=cookie)
        if path in ("/identity/accounts/register", "/api/accounts/register"):
            try:
                address = email.utils.parseaddr(json.loads(body)["email"])[1].lower()
            except (ValueError, KeyError, TypeError):
                return self.refuse("Invalid request", 422)
            if not signups_allowed():
                return self.refuse("Registration not allowed or user already exists")
            try:
                with database_lock:
                    database.execute("INSERT INTO users VALUES (?, ?, ?)", (secrets.token_hex(16), address, now()))
            except sqlite3.IntegrityError:
                return self.refuse("Registration not allowed or user already exists")
            return self.send(200, {"object": "register", "captchaBypassToken": ""})
        self.page(404, "Not found")

    def log_message(self, text, *parts):
        print(f"[{now()}][request][INFO] {text % parts}", flush=True)


def main():
    server = http.server.ThreadingHTTPServer((address, port), Handler)
    server.daemon_threads = True

    def end(*_):
        threading.Thread(target=server.shutdown).start()

    signal.signal(signal.SIGTERM, end)
    signal.signal(signal.SIGINT, end)
    print(f"Starting Vaultwarden, version {version}", flush=True)
    print(f"[{now()}][start][NOTICE] Rocket has launched from http://{address}:{port}", flush=True)
    server.serve_forever()
    database.close()


if __name__ == "__main__":
    sys.exit(main())
