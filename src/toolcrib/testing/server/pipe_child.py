"""The process of a scripted stdio server: it passes bytes on and does as it is told.

All it is told comes from the test over a loopback socket, so that one script lasts through any
number of processes, and each starts in a few milliseconds: this file runs by itself, without
site-packages.
"""

import json
import os
import selectors
import signal
import socket
import struct
import sys
from collections.abc import Callable
from pathlib import Path

CHUNK = 65_536
HEADER = struct.Struct(">cI")


class Child:
    """Passes stdin on to the link, and carries out the frames that come back."""

    def __init__(self, link: socket.socket) -> None:
        self.link = link
        self.buffer = bytearray()
        self.stubborn = False
        self.selector = selectors.DefaultSelector()
        self.selector.register(0, selectors.EVENT_READ, self.read_stdin)
        self.selector.register(link, selectors.EVENT_READ, self.read_link)

    def run(self, key: str) -> None:
        """Say who we are and what we were started with, then serve until told to exit."""
        words = {"key": key, "pid": os.getpid(), "cwd": str(Path.cwd()), "env": dict(os.environ)}
        self.tell(b"H", json.dumps(words).encode())
        while True:
            for ready, _ in self.selector.select():
                act: Callable[[], None] = ready.data
                act()

    def read_stdin(self) -> None:
        """Pass on what came; the end too."""
        chunk = os.read(0, CHUNK)
        if chunk:
            self.tell(b"D", chunk)
        else:
            self.selector.unregister(0)
            self.tell(b"Z")

    def tell(self, kind: bytes, payload: bytes = b"") -> None:
        """Send one frame to the test."""
        self.link.sendall(HEADER.pack(kind, len(payload)) + payload)

    def read_link(self) -> None:
        """Take in what the test says. Where it is gone, so are we."""
        chunk = self.link.recv(CHUNK)
        if not chunk:
            os._exit(0)
        self.buffer += chunk
        while len(self.buffer) >= HEADER.size:
            kind, size = HEADER.unpack_from(self.buffer)
            if len(self.buffer) < HEADER.size + size:
                return
            payload = bytes(self.buffer[HEADER.size : HEADER.size + size])
            del self.buffer[: HEADER.size + size]
            self.obey(kind, payload)

    def obey(self, kind: bytes, payload: bytes) -> None:
        """Carry out one frame."""
        if kind == b"O":
            self.write(1, payload)
        elif kind == b"E":
            self.write(2, payload)
        elif kind == b"C":
            os.close(1)
        elif kind == b"X":
            os._exit(payload[0])
        elif kind == b"S":
            self.stubborn = True
            signal.signal(signal.SIGTERM, signal.SIG_IGN)

    def write(self, descriptor: int, payload: bytes) -> None:
        """Write all of it; a reader that is gone ends us, as it ends most programs."""
        rest = memoryview(payload)
        try:
            while rest:
                rest = rest[os.write(descriptor, rest) :]
        except OSError:
            if not self.stubborn:
                os._exit(1)


def main() -> None:
    """Connect to the test and serve it."""
    port, key = sys.argv[1:3]
    try:
        link = socket.create_connection(("127.0.0.1", int(port)))
    except OSError:
        sys.exit("the scripted server's test is not running any more")
    Child(link).run(key)


if __name__ == "__main__":
    main()
