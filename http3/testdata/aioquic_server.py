"""A server of HTTP/3 for a test. It echoes content, with a trailer, on a UDP port that it prints.

usage: aioquic_server.py CERTIFICATE KEY
"""

import asyncio
import sys

from aioquic.asyncio import QuicConnectionProtocol, serve
from aioquic.h3.connection import H3_ALPN, H3Connection
from aioquic.h3.events import DataReceived, HeadersReceived
from aioquic.quic.configuration import QuicConfiguration


class Server(QuicConnectionProtocol):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.http = None
        self.requests = {}

    def quic_event_received(self, event):
        if self.http is None:
            self.http = H3Connection(self._quic)
        for e in self.http.handle_event(event):
            if isinstance(e, HeadersReceived) and e.stream_id not in self.requests:
                self.requests[e.stream_id] = (dict(e.headers), [])
            elif isinstance(e, DataReceived):
                self.requests[e.stream_id][1].append(e.data)
            if getattr(e, "stream_ended", False):
                self.respond(e.stream_id)

    def respond(self, stream):
        head, data = self.requests.pop(stream)
        seen = head[b":method"] + b" " + head[b":path"] + b" " + head.get(b"x-same", b"")
        fields = [(b":status", b"200"), (b"x-seen", seen), (b"x-same", b"a value that is in the table")]
        self.http.send_headers(stream, [(b":status", b"103")])
        self.http.send_headers(stream, fields)
        self.http.send_data(stream, b"".join(data), False)
        self.http.send_headers(stream, [(b"x-after", b"17")], True)
        self.transmit()


async def main():
    configuration = QuicConfiguration(alpn_protocols=H3_ALPN, is_client=False)
    configuration.load_cert_chain(sys.argv[1], sys.argv[2])
    server = await serve("127.0.0.1", 0, configuration=configuration, create_protocol=Server)
    print(server._transport.get_extra_info("sockname")[1], flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    server.close()


asyncio.run(main())
