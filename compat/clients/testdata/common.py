# What the clients in Python share.
import sys


def text(n):
    out, i = bytearray(), 0
    while len(out) < n:
        out += b"line %d\n" % i
        i += 1
    return bytes(out[:n])


def check(name, got, want):
    if got != want:
        sys.exit("%s: got %.200r, want %.200r" % (name, got, want))
