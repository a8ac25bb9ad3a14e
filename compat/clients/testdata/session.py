"""The requests library: sessions, codings, forms, cookies, streams."""

import os
import sys

import requests

from common import check, text

origin = "http://" + sys.argv[1]

s = requests.Session()
s.trust_env = False
conns = set()


def ask(method, path, status=200, **options):
    r = s.request(method, origin + path, timeout=60, **options)
    check("the status of " + path, r.status_code, status)
    if status == 200:
        conns.add(r.headers["X-Conn"])
    return r


for coding in "gzip", "deflate", "identity":
    for path in "/text", "/stream":
        r = ask("GET", path + "?n=200000", headers={"Accept-Encoding": coding})
        check(path, r.content, text(200_000))
        check("the coding", r.headers.get("Content-Encoding", "identity"), coding)
print("codings")

r = ask("GET", "/stream?n=300000", stream=True)
check("stream", b"".join(r.iter_content(1000)), text(300_000))
print("stream")

body = os.urandom(2 << 20)
check("bytes", ask("POST", "/echo", data=body).content, body)
pieces = (body[i : i + 10_000] for i in range(0, len(body), 10_000))
check("generator", ask("POST", "/echo", data=pieces).content, body)
print("bodies")

for part, want in ("f", body), ("a", "ä&=".encode()):
    files = {"f": ("f.bin", body, "image/png")}
    r = ask("POST", "/form?part=" + part, data={"a": "ä&="}, files=files)
    check("form " + part, r.content, want)
r = ask("POST", "/form?part=a", data={"b": "x y", "a": "ä&="})
check("form", r.content, "ä&=".encode())
print("forms")

r = ask("GET", "/away")
check("cookie", (r.content, [h.status_code for h in r.history]), (b"vanilla", [302]))
print("cookies")

ask("GET", "/nothing", status=404)
check("connections", len(conns), 1)
print("one connection")
