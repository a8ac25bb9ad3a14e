"""A server that does what service in service_test.go describes. It prints its port.

Usage: server.py on|off [CERTIFICATE KEY]
"""

import ssl
import sys
import threading
from urllib.parse import parse_qs, urlsplit

from websockets.exceptions import ConnectionClosed
from websockets.sync.server import serve

compression = "deflate" if sys.argv[1] == "on" else None
notes = {}
noted = threading.Condition()


def note(name, value):
    with noted:
        notes[name] = value
        noted.notify_all()


def answer(ws, path):
    while True:
        message = ws.recv()
        if path == "/parts":
            third = len(message) // 3
            ws.send([message[:third], message[third : 2 * third], message[2 * third :]])
        elif path == "/ping":
            ws.send("ponged" if ws.ping(message).wait(30) else "no pong")
        else:
            ws.send(message)


def handle(ws):
    target = urlsplit(ws.request.path)
    name = parse_qs(target.query).get("id", [""])[0]
    try:
        if target.path == "/close":
            code, _, reason = ws.recv().partition(" ")
            ws.close(int(code), reason)
        elif target.path == "/seen":
            with noted:
                noted.wait_for(lambda: name in notes, timeout=60)
            ws.send(notes.get(name, "no note"))
            ws.recv()
        else:
            answer(ws, target.path)
    except ConnectionClosed as e:
        note(name, f"{e.rcvd.code} {e.rcvd.reason}".strip() if e.rcvd else str(e))


def choose(ws, offered):
    return next((p for p in ("chat.v2", "chat.v1") if p in offered), None)


context = None
if len(sys.argv) > 2:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(sys.argv[2], sys.argv[3])
with serve(handle, "127.0.0.1", 0, compression=compression, select_subprotocol=choose, max_size=2 << 20, ssl=context) as server:
    print(server.socket.getsockname()[1], flush=True)
    server.serve_forever()
