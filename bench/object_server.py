"""A web server for the files of a folder, as an object store would be: ranges, ETags, and a delay for each request.

    python bench/object_server.py FOLDER --delay 0.02

It prints its URL, and serves until its standard input ends. `GET /-/counters` tells what was asked for since the last time.
Each connection has a thread that sleeps, parses a few lines, and has the kernel send the bytes: none of it holds up another.
"""

import argparse
import json
import os
import re
import resource
import socket
import sys
import threading
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from urllib.parse import unquote

HEAD_BYTES_MAX = 64 * 1024


@dataclass
class Counters:
    requests: int = 0
    heads: int = 0
    body_bytes: int = 0
    in_flight_max: int = 0
    # Of the server, user and system.
    cpu_seconds: float = 0.0


class Server:
    def __init__(self, folder: Path, delay_seconds: float) -> None:
        self.folder = folder.resolve()
        self.delay_seconds = delay_seconds
        self.lock = threading.Lock()
        self.counters = Counters()
        self.in_flight = 0
        self.cpu_before = cpu_seconds()
        self.socket = socket.create_server(("127.0.0.1", 0), backlog=256)
        self.url = f"http://127.0.0.1:{self.socket.getsockname()[1]}"

    def serve_forever(self) -> None:
        while True:
            connection, _ = self.socket.accept()
            threading.Thread(target=self.serve, args=(connection,), daemon=True).start()

    def serve(self, connection: socket.socket) -> None:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        pending = b""
        with connection:
            while True:
                while b"\r\n\r\n" not in pending:
                    try:
                        received = connection.recv(HEAD_BYTES_MAX)
                    except ConnectionResetError:
                        return
                    if not received:
                        return
                    pending += received
                head, _, pending = pending.partition(b"\r\n\r\n")
                try:
                    self.answer(connection, head.decode("latin-1"))
                except (BrokenPipeError, ConnectionResetError):
                    return

    def answer(self, connection: socket.socket, head: str) -> None:
        first, *lines = head.split("\r\n")
        method, target, _ = first.split(" ", 2)
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        if target == "/-/counters":
            respond(connection, 200, {}, self.take_counters())
            return
        with self.lock:
            self.in_flight += 1
            self.counters.requests += 1
            self.counters.heads += method == "HEAD"
            self.counters.in_flight_max = max(self.counters.in_flight_max, self.in_flight)
        time.sleep(self.delay_seconds)
        with self.lock:
            self.in_flight -= 1
        path = self.folder / unquote(target.partition("?")[0]).lstrip("/")
        if not path.is_file() or self.folder not in path.resolve().parents:
            respond(connection, 404, {}, b"")
            return
        self.send_file(connection, path, method, headers)

    def send_file(self, connection: socket.socket, path: Path, method: str, headers: dict[str, str]) -> None:
        with path.open("rb") as file:
            found = os.fstat(file.fileno())
            etag = f'"{found.st_mtime_ns:x}-{found.st_size:x}"'
            known = {"ETag": etag, "Last-Modified": http_date(found.st_mtime), "Accept-Ranges": "bytes"}
            if headers.get("if-match", etag) != etag:
                respond(connection, 412, known, b"")
                return
            if headers.get("if-none-match") == etag:
                respond(connection, 304, known, b"")
                return
            start, end, status = 0, found.st_size, 200
            if asked := re.fullmatch(r"bytes=(\d*)-(\d*)", headers.get("range", "")):
                status = 206
                if asked[1]:
                    start, end = int(asked[1]), min(found.st_size, int(asked[2] or found.st_size) + 1)
                else:
                    start = max(0, found.st_size - int(asked[2]))
                if start >= end:
                    respond(connection, 416, known, b"")
                    return
                known["Content-Range"] = f"bytes {start}-{end - 1}/{found.st_size}"
            connection.sendall(head_of(status, known, end - start))
            if method == "HEAD":
                return
            with self.lock:
                self.counters.body_bytes += end - start
            while start < end:
                start += os.sendfile(connection.fileno(), file.fileno(), start, end - start)

    def take_counters(self) -> bytes:
        with self.lock:
            taken, self.counters = self.counters, Counters()
            taken.cpu_seconds, self.cpu_before = cpu_seconds() - self.cpu_before, cpu_seconds()
        return json.dumps(asdict(taken)).encode()


def cpu_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def http_date(seconds: float) -> str:
    return time.strftime("%a, %d %b %Y %H:%M:%S GMT", time.gmtime(seconds))


def head_of(status: int, headers: dict[str, str], length: int) -> bytes:
    lines = [f"HTTP/1.1 {status} X", f"Content-Length: {length}", *(f"{name}: {value}" for name, value in headers.items())]
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


def respond(connection: socket.socket, status: int, headers: dict[str, str], body: bytes) -> None:
    connection.sendall(head_of(status, headers, len(body)) + body)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--delay", type=float, default=0.02, help="seconds before each answer [0.02]")
    arguments = parser.parse_args()
    server = Server(arguments.folder, arguments.delay)
    print(server.url, flush=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    sys.stdin.read()
    return 0


if __name__ == "__main__":
    sys.exit(main())
