"""The origin of the tests on Python's asyncio: see origin_test.go."""

import asyncio
import gzip

TEXT = b"compressed text\n" * 200

connections = 0
requests = 0


async def read_request(reader):
    """Returns method, path, fields and body of a request, or None at the end."""
    line = await reader.readline()
    if not line:
        return None
    method, path, _ = line.decode().split()
    fields = {}
    while (line := (await reader.readline()).decode().rstrip("\r\n")):
        name, _, value = line.partition(":")
        fields[name.lower()] = value.strip()
    body = b""
    if fields.get("transfer-encoding") == "chunked":
        while (size := int((await reader.readline()).split(b";")[0], 16)):
            body += await reader.readexactly(size)
            await reader.readexactly(2)
        while (await reader.readline()).rstrip(b"\r\n"):
            pass
    elif "content-length" in fields:
        body = await reader.readexactly(int(fields["content-length"]))
    return method, path, fields, body


class Connection:
    def __init__(self, reader, writer):
        global connections
        connections += 1
        self.number, self.reader, self.writer = connections, reader, writer

    def head(self, status, *lines):
        lines = (f"HTTP/1.1 {status} -", f"X-Connection: {self.number}", f"X-Request: {requests}", *lines)
        self.writer.write(("\r\n".join(lines) + "\r\n\r\n").encode())

    def answer(self, method, status, body, *lines):
        self.head(status, f"Content-Length: {len(body)}", *lines)
        if method != "HEAD":
            self.writer.write(body)

    def chunk(self, body):
        self.writer.write(b"%x\r\n%s\r\n" % (len(body), body))

    async def handle(self, method, path, fields, body):
        """Answers a request and returns whether the connection goes on."""
        match path:
            case "/hello":
                self.answer(method, 200, b"hello\n")
            case "/204":
                self.head(204)
            case "/304":
                self.head(304, 'ETag: "x"', "Content-Length: 1000")
            case "/redirect":
                self.answer(method, 302, b"", "Location: /hello")
            case "/redirect307":
                self.answer(method, 307, b"elsewhere", "Location: /echo")
            case "/echo":
                framing = fields.get("transfer-encoding") or ("length" if "content-length" in fields else "none")
                self.answer(method, 200, body, f"X-Method: {method}", f"X-Framing: {framing}")
            case "/gzip" if "gzip" in fields.get("accept-encoding", ""):
                self.answer(method, 200, gzip.compress(TEXT), "Content-Encoding: gzip")
            case "/gzip":
                self.answer(method, 200, TEXT)
            case "/hints":
                self.writer.write(b"HTTP/1.1 103 Early Hints\r\nLink: </a.css>; rel=preload\r\n\r\n")
                self.answer(method, 200, b"hinted")
            case "/stream":
                self.head(200, "Transfer-Encoding: chunked")
                for i in range(20):
                    self.chunk(b"piece %d\n" % i)
                    await self.writer.drain()
                    await asyncio.sleep(0.001)
                self.writer.write(b"0\r\n\r\n")
            case "/close":
                self.answer(method, 200, b"last", "Connection: close")
                return False
            case "/until-close":
                self.head(200)
                self.writer.write(b"until the end")
                return False
            case "/drop":
                self.answer(method, 200, b"dropped")
                return False
            case "/truncate":
                self.head(200, "Content-Length: 100")
                self.writer.write(b"only this")
                return False
            case "/truncate-chunked":
                self.head(200, "Transfer-Encoding: chunked")
                self.chunk(b"only this")
                return False
            case _:
                self.answer(method, 404, b"not found")
        return True

    async def serve(self):
        global requests
        try:
            while request := await read_request(self.reader):
                requests += 1
                if not await self.handle(*request):
                    break
                await self.writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        self.writer.close()


async def main():
    server = await asyncio.start_server(lambda r, w: Connection(r, w).serve(), "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


asyncio.run(main())
