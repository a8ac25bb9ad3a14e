"""A client that lets a server do all that service in service_test.go describes.

Usage: client.py URL on|off

It prints the number of its checks.
"""

import sys
import uuid

from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

url, compression = sys.argv[1], "deflate" if sys.argv[2] == "on" else None
checks = 0


def check(what, got, want):
    global checks
    checks += 1
    if got != want:
        sys.exit(f"{what}: got {str(got)[:100]!r}, want {str(want)[:100]!r}")


def dial(path, **options):
    return connect(url + path, compression=compression, max_size=2 << 20, proxy=None, open_timeout=60, close_timeout=60, **options)


def receive(ws):
    return ws.recv(timeout=60)


def closed(ws):
    try:
        receive(ws)
    except ConnectionClosed as e:
        return (e.rcvd.code, e.rcvd.reason) if e.rcvd else None


with dial("/echo") as ws, dial("/parts") as parts:
    for size in 0, 1, 125, 126, 65535, 65536, 1 << 20:
        text = ("0123456789 äöü €, " * (size // 18 + 1)).encode()[:size].decode(errors="ignore").ljust(size % 3, ".")
        for message in text, text.encode():
            for peer in ws, parts:
                peer.send(message)
                check(f"{size} of {type(message)}", receive(peer), message)
            third = len(message) // 3
            ws.send([message[:third], message[third:], message[:0]])
            check(f"{size} in fragments", receive(ws), message)
    for payload in b"", b"p", b"x" * 125:
        check("pong", ws.ping(payload).wait(30), True)

with dial("/ping") as ws:
    for payload in "", "p", "x" * 125:
        ws.send(payload)
        check("ponged", receive(ws), "ponged")

for code, reason in (1000, ""), (1001, "away"), (1011, ""), (3000, "r"), (4999, "x" * 123):
    name = uuid.uuid4().hex
    note = f"{code} {reason}".strip()
    with dial("/echo?id=" + name) as ws:
        ws.send("before the end")
        check("echo", receive(ws), "before the end")
        ws.close(code, reason)
    with dial("/seen?id=" + name) as ws:
        check("the end", receive(ws), note)
    with dial("/close") as ws:
        ws.send(note)
        check("closed", closed(ws), (code, reason))

for wanted, want in (["chat.v1"], "chat.v1"), (["other", "chat.v2"], "chat.v2"), (None, None):
    with dial("/echo", subprotocols=wanted) as ws:
        check("subprotocol", ws.subprotocol, want)

print(checks)
