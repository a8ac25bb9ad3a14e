# Requests by way of the Python package h2. The argument is the origin of the server. It
# prints the name of each part that has passed.
import socket, ssl, sys
from urllib.parse import urlsplit
from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.errors import ErrorCodes
from h2 import events

origin = urlsplit(sys.argv[1])
sock = socket.create_connection((origin.hostname, origin.port), timeout=300)
if origin.scheme == "https":
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.set_alpn_protocols(["h2"])
    sock = context.wrap_socket(sock, server_hostname=origin.hostname)
    assert sock.selected_alpn_protocol() == "h2"

conn = H2Connection(config=H2Configuration(client_side=True, header_encoding="utf-8"))
conn.initiate_connection()
conn.increment_flow_control_window(1 << 20)


class Reply:
    def __init__(self):
        self.fields, self.hints, self.trailers, self.body, self.ended = {}, [], {}, b"", False
        self.go_on = False


replies = {}
large = "".join("%07d\n" % i for i in range(1 << 17)).encode()


def receive():
    """Receives some frames, and notes what they bring."""
    data = sock.recv(1 << 16)
    assert data, "the connection has ended"
    for e in conn.receive_data(data):
        r = replies.get(getattr(e, "stream_id", None))
        if isinstance(e, events.ResponseReceived):
            r.fields = dict(e.headers)
        elif isinstance(e, events.InformationalResponseReceived):
            r.hints.append(dict(e.headers))
            r.go_on = r.go_on or dict(e.headers)[":status"] == "100"
        elif isinstance(e, events.TrailersReceived):
            r.trailers = dict(e.headers)
        elif isinstance(e, events.DataReceived):
            r.body += e.data
            conn.acknowledge_received_data(e.flow_controlled_length, e.stream_id)
        elif isinstance(e, events.StreamEnded):
            r.ended = True
        elif isinstance(e, (events.StreamReset, events.ConnectionTerminated)):
            raise AssertionError(e)
    flush()


def flush():
    sock.sendall(conn.data_to_send())


def begin(method, path, fields=(), end=True):
    stream = conn.get_next_available_stream_id()
    replies[stream] = Reply()
    conn.send_headers(stream, [(":method", method), (":scheme", origin.scheme), (":authority", origin.netloc), (":path", path), *fields], end_stream=end)
    flush()
    return stream


def send(stream, body, end=True):
    while body:
        n = min(conn.local_flow_control_window(stream), conn.max_outbound_frame_size, len(body))
        if n == 0:
            receive()
            continue
        conn.send_data(stream, body[:n])
        flush()
        body = body[n:]
    if end:
        conn.end_stream(stream)
        flush()


def finish(stream):
    r = replies[stream]
    while not r.ended:
        receive()
    assert r.fields[":status"] == "200", r.fields
    return r


def get(path):
    return finish(begin("GET", path))


assert get("/proto").body == b"HTTP/2.0"
print("get")

assert get("/text?n=%d" % len(large)).body == large
print("large")

assert get("/stream?n=%d" % len(large)).body == large
print("stream")

stream = begin("POST", "/echo", [("content-length", str(len(large)))], end=False)
send(stream, large)
assert finish(stream).body == large
print("post")

stream = begin("POST", "/echo/stream", end=False)
send(stream, large)
assert finish(stream).body == large
print("post stream")

r = finish(begin("HEAD", "/text?n=1000"))
assert r.fields["content-length"] == "1000" and r.body == b""
print("head")

stream = begin("POST", "/trailers", [("trailer", "x-sum")], end=False)
send(stream, b"abc", end=False)
conn.send_headers(stream, [("x-sum", "7")], end_stream=True)
flush()
r = finish(stream)
assert r.body == b"abc" and r.trailers == {"x-echoed": "7"} and "x-echoed" not in r.fields, (r.body, r.trailers, r.fields)
print("trailers")

r = get("/hints")
assert [h[":status"] for h in r.hints] == ["103"] and r.body == b"hinted", r.hints
print("hints")

stream = begin("POST", "/echo", [("expect", "100-continue")], end=False)
while not replies[stream].go_on:
    receive()
send(stream, large)
assert finish(stream).body == large
print("continue")

streams = [begin("GET", "/text?n=%d" % (i * 100)) for i in range(100)]
for i, stream in enumerate(streams):
    assert finish(stream).body == large[: i * 100]
print("at once")

stream = begin("GET", "/hang")
get("/hangs")
conn.reset_stream(stream, ErrorCodes.CANCEL)
flush()
assert get("/gone").body == b"context canceled"
print("reset")

conn.close_connection()
flush()
print("one connection")
