"""A client of aioquic, whose encoder of QPACK has a dynamic table. It prints a line a response."""

import asyncio
import ssl
import sys

from aioquic.asyncio.client import connect
from aioquic.asyncio.protocol import QuicConnectionProtocol
from aioquic.h3.connection import H3_ALPN, H3Connection
from aioquic.h3.events import DataReceived, HeadersReceived
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.events import ConnectionTerminated


class Client(QuicConnectionProtocol):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.http = H3Connection(self._quic)
        self.waiting = {}

    async def request(self, method, path, body=b"", trailers=None, extra=()):
        stream = self._quic.get_next_available_stream_id()
        done = self._loop.create_future()
        self.waiting[stream] = ([], bytearray(), done)
        head = [
            (b":method", method.encode()),
            (b":scheme", b"https"),
            (b":authority", b"localhost"),
            (b":path", path.encode()),
            (b"user-agent", b"aioquic"),
            *extra,
        ]
        self.http.send_headers(stream, head, end_stream=not body and not trailers)
        if body or trailers:
            for i in range(0, len(body), 10000):
                self.http.send_data(stream, body[i : i + 10000], end_stream=not trailers and i + 10000 >= len(body))
                self.transmit()
        if trailers:
            self.http.send_headers(stream, trailers, end_stream=True)
        self.transmit()
        return await asyncio.wait_for(asyncio.shield(done), 60)

    def quic_event_received(self, event):
        if isinstance(event, ConnectionTerminated) and event.error_code not in (0, 0x100):
            print("ended", event.error_code, event.reason_phrase)
        for e in self.http.handle_event(event):
            if not isinstance(e, (HeadersReceived, DataReceived)) or e.stream_id not in self.waiting:
                continue
            heads, content, done = self.waiting[e.stream_id]
            if isinstance(e, HeadersReceived):
                heads.append(dict(e.headers))
            else:
                content.extend(e.data)
            if e.stream_ended and not done.done():
                done.set_result((heads, bytes(content)))


async def main(port):
    config = QuicConfiguration(is_client=True, alpn_protocols=H3_ALPN, verify_mode=ssl.CERT_NONE, server_name="localhost")
    async with connect("127.0.0.1", port, configuration=config, create_protocol=Client) as c:
        for i in range(20):
            heads, content = await c.request("GET", f"/{i}", extra=[(b"x-same", b"a value that is in the table")])
            print("get", heads[-1][b":status"].decode(), content.decode())
        heads, content = await c.request("POST", "/post", b"x" * 300000)
        print("post", heads[-1][b":status"].decode(), len(content))
        heads, content = await c.request("POST", "/trailers", b"abc", [(b"x-sum", b"17")])
        print("trailers", heads[0][b":status"].decode(), content.decode(), heads[-1].get(b"x-after", b"").decode())
        answers = await asyncio.gather(*[c.request("POST", f"/{i}", str(i).encode() * 100) for i in range(50)])
        print("many", sum(content == str(i).encode() * 100 for i, (_, content) in enumerate(answers)))


asyncio.run(main(int(sys.argv[1])))
