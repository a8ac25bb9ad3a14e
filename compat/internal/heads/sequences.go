package heads

import (
	"slices"

	"github.com/valyala/fasthttp/compat/internal/ops"
)

type op = ops.Op

// sequences are for headers of both types.
var sequences = []ops.Sequence{
	{"empty", []op{{"Len"}}},
	{"one", []op{{"Set", "Foo", "bar"}}},
	{"set-twice", []op{{"Set", "Foo", "bar"}, {"Set", "foo", "baz"}}},
	{"set-collapses-adds", []op{{"Add", "Foo", "a"}, {"Add", "Foo", "b"}, {"Add", "Bar", "x"}, {"Set", "Foo", "c"}}},
	{"add-twice", []op{{"Add", "Foo", "bar"}, {"Add", "foo", "baz"}, {"PeekAll", "Foo"}, {"Peek", "Foo"}}},
	{"del", []op{{"Add", "Foo", "a"}, {"Add", "Bar", "b"}, {"Add", "Foo", "c"}, {"Del", "fOO"}}},
	{"bytes-forms", []op{{"SetBytesK", "a-b", "1"}, {"SetBytesV", "c-d", "2"}, {"SetBytesKV", "e-f", "3"}, {"AddBytesK", "a-b", "4"}, {"AddBytesV", "c-d", "5"}, {"AddBytesKV", "e-f", "6"}, {"DelBytes", "C-D"}, {"PeekBytes", "a-b"}}},
	{"normalise", []op{{"Set", "fOO-bAR-baz", "1"}, {"Set", "x", "2"}, {"Set", "x-", "3"}, {"Set", "-x", "4"}, {"Set", "a--b", "5"}, {"Set", "a_b", "6"}, {"Set", "www-authenticate", "7"}, {"Set", "ETAG", "8"}}},
	{"canonical", []op{{"SetCanonical", "Foo-Bar", "1"}, {"SetCanonical", "foo-bar", "2"}, {"PeekCanonical", "foo-bar"}, {"PeekCanonical", "Foo-Bar"}, {"Peek", "foo-bar"}}},
	{"canonical-rename", []op{{"Set", "Sec-Websocket-Key", "1"}, {"SetCanonical", "Sec-WebSocket-Key", "2"}, {"Del", "Sec-Websocket-Key"}, {"PeekCanonical", "Sec-WebSocket-Key"}, {"Set", "Foo-Bar", "1"}, {"SetCanonical", "FOO-bar", "2"}, {"Del", "foo-bar"}, {"PeekCanonical", "FOO-bar"}}},
	{"empty-name", []op{{"Set", "", "v"}, {"Add", "", "w"}, {"Peek", ""}, {"Del", ""}}},
	{"spaces-around", []op{{"Set", "Foo", "  a b  "}, {"Set", "Bar", "\ta\t"}, {"Set", " Baz", "1"}, {"Set", "Qux ", "2"}, {"Set", "Two Words", "3"}}},
	{"no-normalise", []op{{"DisableNormalizing"}, {"Set", "foo-BAR", "1"}, {"Set", "Foo-Bar", "2"}, {"Peek", "foo-BAR"}, {"Peek", "Foo-Bar"}, {"Peek", "FOO-BAR"}, {"Del", "foo-bar"}, {"Del", "foo-BAR"}}},
	{"normalise-again", []op{{"DisableNormalizing"}, {"DisableNormalizing"}, {"Set", "foo", "1"}, {"EnableNormalizing"}, {"EnableNormalizing"}, {"Set", "foo", "2"}, {"Peek", "foo"}}},
	{"reset-normalising", []op{{"DisableNormalizing"}, {"Reset"}, {"Set", "foo", "1"}}},
	{"cookies-all-gone", []op{{"SetCookie", "a", "1"}, {"SetCookie", "b", "2"}, {"DelAllCookies"}, {"SetCookie", "c", "3"}}},
	{"cookie-hostile", []op{{"SetCookie", "a;b", "c;d"}, {"SetCookie", "e\r\nX: y", "f\r\nZ: q"}, {"SetCookie", "g=h", "i=j"}, {"SetCookie", "n\x00", "\x00v"}, {"SetCookie", "s p", "v w"}, {"SetCookie", "c,d", "\"q\""}}},
	{"trailer-one", []op{{"SetTrailer", "Foo"}, {"Set", "Foo", "bar"}, {"Set", "Baz", "qux"}}},
	{"trailer-list", []op{{"SetTrailer", "foo, bar ,BAZ,,a-b"}, {"AddTrailer", "more"}, {"AddTrailer", "foo"}}},
	{"trailer-header", []op{{"Set", "Trailer", "foo, Content-Length, bar"}, {"Peek", "Trailer"}, {"PeekAll", "Trailer"}, {"Add", "Trailer", "baz"}, {"Del", "Trailer"}}},
	{"trailer-bad", []op{{"AddTrailer", "a b"}, {"AddTrailer", "a\r\nb"}, {"AddTrailer", "a:b"}, {"AddTrailer", "é"}, {"AddTrailer", ""}, {"AddTrailer", "   "}}},
	{"trailer-reset", []op{{"AddTrailer", "Foo"}, {"SetTrailer", "Bar"}, {"SetTrailer", ""}}},
	{"trailer-values", []op{{"AddTrailer", "Foo"}, {"AddTrailer", "Bar"}, {"Set", "Bar", "2"}, {"Add", "Foo", "1"}, {"Add", "Foo", "x"}}},
	{"close", []op{{"SetConnectionClose"}, {"ResetConnectionClose"}, {"ResetConnectionClose"}}},
	{"close-header", []op{{"Set", "Connection", "close"}, {"Set", "Connection", "keep-alive"}, {"Set", "Connection", "Close"}, {"Peek", "Connection"}, {"Del", "Connection"}}},
	{"close-list", []op{{"Set", "Connection", "keep-alive, close"}, {"Set", "Connection", "close, TE"}}},
	{"close-upgrade", []op{{"Set", "Connection", "Upgrade"}, {"Set", "Upgrade", "websocket"}, {"SetConnectionClose"}, {"ResetConnectionClose"}}},
	{"close-add", []op{{"Add", "Connection", "close"}, {"Add", "Connection", "foo"}}},
	{"length-header", []op{{"Set", "Content-Length", "12"}, {"Set", "Content-Length", "x"}, {"Set", "Content-Length", "-1"}, {"Set", "Content-Length", "99999999999999999999"}, {"Peek", "Content-Length"}, {"Del", "Content-Length"}}},
	{"length-add", []op{{"Add", "Content-Length", "12"}, {"Add", "Content-Length", "13"}, {"PeekAll", "Content-Length"}}},
	{"te-header", []op{{"Set", "Transfer-Encoding", "chunked"}, {"Add", "Transfer-Encoding", "gzip"}, {"Peek", "Transfer-Encoding"}, {"Del", "Transfer-Encoding"}}},
	{"protocol", []op{{"SetProtocol", "HTTP/1.0"}, {"SetProtocol", "HTTP/1.1"}, {"SetProtocol", "HTTP/2.0"}, {"SetProtocol", ""}, {"SetProtocol", "foo bar"}, {"SetProtocol", "x\r\ny: z"}}},
	{"ct-twice", []op{{"SetContentType", "a/b"}, {"Add", "Content-Type", "c/d"}, {"PeekAll", "Content-Type"}}},
}

// Sequences makes the calls of the sequences for both types, and of own.
func (p *Program[H, P]) Sequences(own []ops.Sequence) {
	for _, s := range slices.Concat(sequences, own) {
		p.Sequence("seq/"+s.ID, s.Ops)
	}
}
