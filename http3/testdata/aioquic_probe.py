"""A probe of a server by frames that aioquic alone would not send. It prints a line for each rule of
RFC 9114, RFC 9204 and RFC 9220 that the server breaks, and the number of rules at the end.

usage: aioquic_probe.py PORT
"""

import asyncio
import ssl
import sys

import pylsqpack
from aioquic.asyncio.client import connect
from aioquic.asyncio.protocol import QuicConnectionProtocol
from aioquic.buffer import Buffer, encode_uint_var
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.events import ConnectionTerminated, StopSendingReceived, StreamDataReceived, StreamReset

CODES = {
    0x100: "NO_ERROR", 0x101: "GENERAL_PROTOCOL_ERROR", 0x102: "INTERNAL_ERROR", 0x103: "STREAM_CREATION_ERROR",
    0x104: "CLOSED_CRITICAL_STREAM", 0x105: "FRAME_UNEXPECTED", 0x106: "FRAME_ERROR", 0x107: "EXCESSIVE_LOAD",
    0x108: "ID_ERROR", 0x109: "SETTINGS_ERROR", 0x10A: "MISSING_SETTINGS", 0x10B: "REQUEST_REJECTED",
    0x10C: "REQUEST_CANCELLED", 0x10D: "REQUEST_INCOMPLETE", 0x10E: "MESSAGE_ERROR", 0x110: "VERSION_FALLBACK",
    0x200: "DECOMPRESSION_FAILED", 0x201: "ENCODER_STREAM_ERROR", 0x202: "DECODER_STREAM_ERROR",
}

DATA, HEADERS, CANCEL_PUSH, SETTINGS, PUSH_PROMISE, GOAWAY, MAX_PUSH_ID = 0, 1, 3, 4, 5, 7, 13
CONTROL, PUSH, ENCODER, DECODER = b"\x00", b"\x01", b"\x02", b"\x03"


def frame(kind, payload=b""):
    return encode_uint_var(kind) + encode_uint_var(len(payload)) + payload


def number(n):
    return encode_uint_var(n)


def fields(*all):
    pairs = []
    for f in all:
        name, value = f[1:].split(": ", 1) if f[0] == ":" else f.split(": ", 1)
        pairs.append(((":" if f[0] == ":" else "").encode() + name.encode(), value.encode("latin-1")))
    return frame(HEADERS, pylsqpack.Encoder().encode(0, pairs)[1])


def get(*more):
    return fields(":method: GET", ":scheme: https", ":authority: a", ":path: /", *more)


def post(*more):
    return fields(":method: POST", ":scheme: https", ":authority: a", ":path: /", *more)


def settings(*pairs):
    return frame(SETTINGS, b"".join(number(i) + number(v) for i, v in pairs))


class Probe(QuicConnectionProtocol):
    closes = False  # only the end of the connection counts: a response may arrive before it
    next = None  # gets the results of requests that only precede the rule

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.begin()

    def begin(self):
        self.request = None
        self.content = bytearray()
        self.outcome = self._loop.create_future()

    def result(self, text):
        if self.next:
            self.next(text)
        elif not self.outcome.done():
            self.outcome.set_result(text)

    def uni(self, b, end=False):
        stream = self._quic.get_next_available_stream_id(is_unidirectional=True)
        self._quic.send_stream_data(stream, b, end)
        return stream

    def ask(self, b, end=True):
        self.request = self._quic.get_next_available_stream_id()
        self._quic.send_stream_data(self.request, b, end)

    def quic_event_received(self, event):
        if isinstance(event, ConnectionTerminated):
            self.next = None
            self.result("close " + CODES.get(event.error_code, str(event.error_code)))
        elif self.closes and not self.next or getattr(event, "stream_id", None) != self.request:
            return
        elif isinstance(event, (StreamReset, StopSendingReceived)) and event.error_code != 0x100:
            self.result("reset " + CODES.get(event.error_code, str(event.error_code)))
        elif isinstance(event, StreamDataReceived):
            self.content += event.data
            if event.end_stream:
                self.result(self.status())

    def status(self):
        b = Buffer(data=bytes(self.content))
        kind, size = b.pull_uint_var(), b.pull_uint_var()
        if kind != HEADERS:
            return f"a frame of type {kind}"
        _, all = pylsqpack.Decoder(0, 0).feed_header(0, b.pull_bytes(size))
        return dict(all)[b":status"].decode()


def request(*parts, end=True):
    def run(p):
        p.uni(CONTROL + settings())
        p.ask(b"".join(parts), end)

    return run


def control(*parts, end=False):
    """The control stream after SETTINGS, and a request."""

    def run(p):
        p.uni(CONTROL + settings() + b"".join(parts), end)
        p.ask(get())

    return run


def begins(*parts):
    """The control stream from its beginning, and a request."""

    def run(p):
        p.uni(CONTROL + b"".join(parts))
        p.ask(get())

    return run


def streams(*all, end=False):
    def run(p):
        p.uni(CONTROL + settings())
        for b in all:
            p.uni(b, end)
        p.ask(get())

    return run


def reset_control(p):
    """The control stream is reset once the server has read it: it sends no response that is larger
    than SETTINGS permit."""
    stream = p.uni(CONTROL + settings((6, 1)))
    p.ask(get())

    def next(result):
        if result == "200":
            p.content.clear()
            p.ask(get())
        else:
            p.next = None
            p._quic.reset_stream(stream, 0x100)

    p.next = next


UNEXPECTED, MALFORMED = "close FRAME_UNEXPECTED", "reset MESSAGE_ERROR"

RULES = [
    # RFC 9114, messages
    ("4.1 a request", "200", request(get())),
    ("4.1 content and trailers", "200", request(post(), frame(DATA, b"a"), fields("x: y"))),
    ("4.1 DATA first", UNEXPECTED, request(frame(DATA, b"a"), get())),
    ("4.1 DATA after trailers", UNEXPECTED, request(post(), fields("x: y"), frame(DATA, b"a"))),
    ("4.1 HEADERS after trailers", UNEXPECTED, request(post(), fields("x: y"), fields("x: y"))),
    ("4.1 no message", "reset REQUEST_INCOMPLETE", request()),
    ("4.1.2 too short", MALFORMED, request(post("content-length: 2"), frame(DATA, b"a"))),
    ("4.1.2 too long", MALFORMED, request(post("content-length: 2"), frame(DATA, b"abc"))),
    ("4.1.2 no content at all", MALFORMED, request(post("content-length: 2"))),
    ("4.1.2 the right length", "200", request(post("content-length: 2"), frame(DATA, b"a"), frame(DATA, b"b"))),
    ("4.1.2 two lengths", MALFORMED, request(post("content-length: 1", "content-length: 2"), frame(DATA, b"a"))),
    ("4.1.2 a length that is no number", MALFORMED, request(post("content-length: +1"), frame(DATA, b"a"))),
    ("4.2 upper case", MALFORMED, request(get("X: y"))),
    *((f"4.2 {f}", MALFORMED, request(get(f))) for f in (
        "connection: close", "keep-alive: 1", "proxy-connection: close", "transfer-encoding: chunked", "upgrade: a", "te: gzip")),
    ("4.2 te", "200", request(get("te: trailers"))),
    ("4.2 connection in trailers", MALFORMED, request(post(), frame(DATA, b"a"), fields("connection: close"))),
    ("4.2.1 parts of Cookie", "200", request(get("cookie: a=b", "cookie: c=d"))),
    ("4.2.2 too large", "431", request(get(*["x: " + "a" * 4000] * 17))),
    ("4.3 unknown", MALFORMED, request(get(":other: 1"))),
    ("4.3 after a field", MALFORMED, request(fields(":method: GET", ":scheme: https", "x: y", ":authority: a", ":path: /"))),
    ("4.3 in trailers", MALFORMED, request(post(), fields(":path: /"))),
    ("4.3 of a response", MALFORMED, request(get(":status: 200"))),
    *((f"4.3.1 {f} twice", MALFORMED, request(get(f))) for f in (":method: GET", ":scheme: https", ":authority: a", ":path: /")),
    ("4.3.1 no :method", MALFORMED, request(fields(":scheme: https", ":authority: a", ":path: /"))),
    ("4.3.1 no :scheme", MALFORMED, request(fields(":method: GET", ":authority: a", ":path: /"))),
    ("4.3.1 no :path", MALFORMED, request(fields(":method: GET", ":scheme: https", ":authority: a"))),
    ("4.3.1 an empty :path", MALFORMED, request(fields(":method: GET", ":scheme: https", ":authority: a", ":path: "))),
    ("4.3.1 neither :authority nor host", "400", request(fields(":method: GET", ":scheme: https", ":path: /"))),
    ("4.3.1 an empty :authority", "400", request(fields(":method: GET", ":scheme: https", ":authority: ", ":path: /"))),
    ("4.3.1 host alone", "200", request(fields(":method: GET", ":scheme: https", ":path: /", "host: a"))),
    ("4.3.1 another host", MALFORMED, request(get("host: b"))),
    ("4.4 CONNECT with a path", MALFORMED, request(fields(":method: CONNECT", ":scheme: https", ":authority: a:1", ":path: /"))),
    ("4.4 CONNECT without :authority", MALFORMED, request(fields(":method: CONNECT"))),
    # connections
    ("5.2 GOAWAY", "200", control(frame(GOAWAY, number(4)), frame(GOAWAY, number(4)), frame(GOAWAY, number(0)))),
    ("5.2 GOAWAY that increases", "close ID_ERROR", control(frame(GOAWAY, number(1)), frame(GOAWAY, number(2)))),
    ("6.2 a stream of an unknown type", "200", streams(number(0x21) + b"abc", number(0x1F * 99 + 0x21))),
    ("6.2.1 no SETTINGS", "close MISSING_SETTINGS", begins(frame(GOAWAY, number(0)))),
    ("6.2.1 an unknown frame before SETTINGS", "close MISSING_SETTINGS", begins(frame(0x21), settings())),
    ("6.2.1 a second one", "close STREAM_CREATION_ERROR", streams(CONTROL + settings())),
    ("6.2.1 it ends", "close CLOSED_CRITICAL_STREAM", control(end=True)),
    ("6.2.1 it is reset", "close CLOSED_CRITICAL_STREAM", reset_control),
    ("6.2.2 a push of a client", "close STREAM_CREATION_ERROR", streams(PUSH + number(0))),
    # frames
    ("7.1 the stream ends in a frame", "close FRAME_ERROR", request(post(), frame(DATA, b"abc")[:3])),
    ("7.1 the stream ends in HEADERS", "close FRAME_ERROR", request(get()[:5])),
    ("7.1 the stream ends in a type", "close FRAME_ERROR", request(get(), b"\x40")),
    ("7.1 the stream ends in an unknown frame", "close FRAME_ERROR", request(get(), frame(0x21, b"abc")[:3])),
    ("7.1 GOAWAY is too long", "close FRAME_ERROR", control(frame(GOAWAY, number(0) + b"\x00"))),
    ("7.1 GOAWAY is empty", "close FRAME_ERROR", control(frame(GOAWAY))),
    ("7.1 GOAWAY is too short", "close FRAME_ERROR", control(frame(GOAWAY, b"\x40"))),
    ("7.1 MAX_PUSH_ID is too long", "close FRAME_ERROR", control(frame(MAX_PUSH_ID, number(0) + b"\x00"))),
    ("7.1 SETTINGS end in a setting", "close FRAME_ERROR", begins(frame(SETTINGS, b"\x06"))),
    ("7.2.1 DATA", UNEXPECTED, control(frame(DATA, b"a"))),
    ("7.2.2 HEADERS", UNEXPECTED, control(get())),
    ("7.2.3 CANCEL_PUSH of no push", "close ID_ERROR", control(frame(CANCEL_PUSH, number(0)))),
    ("7.2.3 CANCEL_PUSH of a request", UNEXPECTED, request(get(), frame(CANCEL_PUSH, number(0)))),
    ("7.2.4 SETTINGS twice", UNEXPECTED, control(settings())),
    ("7.2.4 SETTINGS of a request", UNEXPECTED, request(get(), settings())),
    ("7.2.4 a setting twice", "close SETTINGS_ERROR", begins(settings((6, 1), (6, 2)))),
    ("7.2.4 settings that are unknown", "200", begins(settings((0x21, 1), (0x1F * 9 + 0x21, 0), (0x4242, 7)))),
    *((f"7.2.4.1 setting {i} of HTTP/2", "close SETTINGS_ERROR", begins(settings((i, 0)))) for i in (2, 3, 4, 5)),
    ("7.2.5 PUSH_PROMISE of a request", UNEXPECTED, request(post(), frame(PUSH_PROMISE, number(0)))),
    ("7.2.5 PUSH_PROMISE", UNEXPECTED, control(frame(PUSH_PROMISE, number(0)))),
    ("7.2.6 GOAWAY of a request", UNEXPECTED, request(get(), frame(GOAWAY, number(0)))),
    ("7.2.7 MAX_PUSH_ID", "200", control(frame(MAX_PUSH_ID, number(1)), frame(MAX_PUSH_ID, number(9)))),
    ("7.2.7 MAX_PUSH_ID that decreases", "close ID_ERROR", control(frame(MAX_PUSH_ID, number(9)), frame(MAX_PUSH_ID, number(8)))),
    ("7.2.7 MAX_PUSH_ID of a request", UNEXPECTED, request(get(), frame(MAX_PUSH_ID, number(0)))),
    *((f"7.2.8 frame {i} of HTTP/2 of a request", UNEXPECTED, request(get(), frame(i, b""))) for i in (2, 6, 8, 9)),
    *((f"7.2.8 frame {i} of HTTP/2", UNEXPECTED, control(frame(i, b""))) for i in (2, 6, 8, 9)),
    ("9 unknown frames of a request", "200", request(frame(0x21, b"abc"), post(), frame(0x4242), frame(DATA, b"a"), frame(0x40, b"x"))),
    ("9 unknown frames", "200", control(frame(0x21, b"abc"), frame(0x4242))),
    *((f"10.3 {v!r} in a value", MALFORMED, request(get("x: a" + v + "b"))) for v in ("\0", "\r", "\n")),
    ("10.3 a space in a name", MALFORMED, request(get("x y: z"))),
    # QPACK
    ("9204 2.1.1 an entry that is not there", "close DECOMPRESSION_FAILED", request(frame(HEADERS, b"\x00\x00\x80"))),
    ("9204 3.1 a static entry that is not there", "close DECOMPRESSION_FAILED", request(frame(HEADERS, b"\x00\x00\xff\x40"))),
    ("9204 4.2 a second encoder", "close STREAM_CREATION_ERROR", streams(ENCODER, ENCODER)),
    ("9204 4.2 a second decoder", "close STREAM_CREATION_ERROR", streams(DECODER, DECODER)),
    ("9204 4.2 the encoder ends", "close CLOSED_CRITICAL_STREAM", streams(ENCODER, end=True)),
    ("9204 4.2 the decoder ends", "close CLOSED_CRITICAL_STREAM", streams(DECODER, end=True)),
    ("9204 3.2.3 too large a table", "close ENCODER_STREAM_ERROR", streams(ENCODER + b"\x3f\xff\xff\x03")),
    ("9204 4.3 an entry that is not there", "close ENCODER_STREAM_ERROR", streams(ENCODER + b"\x00")),
    ("9204 4.4.1 an acknowledgement of nothing", "close DECODER_STREAM_ERROR", streams(DECODER + b"\x80")),
    ("9204 4.4.3 an increment of 0", "close DECODER_STREAM_ERROR", streams(DECODER + b"\x00")),
    ("9204 4.4.3 an increment of nothing", "close DECODER_STREAM_ERROR", streams(DECODER + b"\x01")),
    # extended CONNECT, which the server has not permitted
    ("9220 3 a setting that is neither 0 nor 1", "close SETTINGS_ERROR", begins(settings((8, 2)))),
    ("9220 3 without permission", MALFORMED, request(
        fields(":method: CONNECT", ":protocol: websocket", ":scheme: https", ":authority: a", ":path: /"))),
]


async def outcome(p):
    p.transmit()
    try:
        return await asyncio.wait_for(asyncio.shield(p.outcome), 60)
    except asyncio.TimeoutError:
        return "nothing"


async def main(port):
    broken = 0
    for rule, want, run in RULES:
        config = QuicConfiguration(is_client=True, alpn_protocols=["h3"], verify_mode=ssl.CERT_NONE, server_name="localhost")
        async with connect("127.0.0.1", port, configuration=config, create_protocol=Probe) as p:
            p.closes = want.startswith("close")
            run(p)
            got = await outcome(p)
            if got == want and not p.closes:
                # the connection still serves requests
                await p.ping()
                p.begin()
                p.ask(get())
                if (again := await outcome(p)) != "200":
                    got += ", then " + again
            if got != want:
                broken += 1
                print(f"{rule}: {got}, want {want}", flush=True)
    print(f"{len(RULES)} rules, {broken} broken")


asyncio.run(main(int(sys.argv[1])))
