"""The client of Python's standard library, over one connection where possible."""

import http.client
import os
import sys

from common import check, text

address = sys.argv[1]

c = http.client.HTTPConnection(address, timeout=60)
c.connect()
sock = c.sock


def ask(method, path, body=None, headers={}, **options):
    c.request(method, path, body, headers, **options)
    r = c.getresponse()
    content = r.read()
    check("the status of " + path, r.status, 200)
    return r, content


for n in 0, 1, 1000, 300_000:
    for path in "/text", "/stream":
        r, got = ask("GET", "%s?n=%d" % (path, n))
        check("GET " + path, got, text(n))
print("get")

r, got = ask("HEAD", "/text?n=1000")
check("HEAD", (got, r.getheader("Content-Length")), (b"", "1000"))
r, got = ask("HEAD", "/stream?n=1000")
check("HEAD of a stream", got, b"")
print("head")

for n in 0, 1, 70_000, 3 << 20:
    body = os.urandom(n)
    r, got = ask("POST", "/echo", body)
    check("POST", got, body)
    pieces = [body[i : i + 50_000] for i in range(0, n, 50_000)]
    r, got = ask("POST", "/echo", iter(pieces), encode_chunked=True)
    check("POST in chunks", got, body)
print("post")

# the head comes alone, the body in small pieces behind it
body = os.urandom(100_000)
c.putrequest("PUT", "/echo")
c.putheader("Content-Length", str(len(body)))
c.endheaders()
for i in range(0, len(body), 1000):
    c.send(body[i : i + 1000])
r = c.getresponse()
got = bytearray()
while piece := r.read(777):
    got += piece
check("PUT in pieces", bytes(got), body)
print("pieces")

check("the connection", c.sock is sock, True)
c.close()
print("one connection")
