package websocket

import "strings"

// The first bytes of compressed messages.
const (
	packedText   = finText | 0x40
	packedBinary = finBinary | 0x40
)

const deflate = "permessage-deflate"

// noContext is for messages that all begin with an empty window.
const noContext = deflate + "; client_no_context_takeover; server_no_context_takeover"

// takeover marks rows in which a message refers to the one before. They do not apply if the
// side under test does not permit that.
const takeover = deflate

// deflateRows are the rows of RFC 7692 sections 6 and 7.2.
var deflateRows = []row{
	{name: "7.2.3.1 one block", offer: noContext, send: []frame{{first: packedText, payload: "\xf2\x48\xcd\xc9\xc9\x07\x00"}}, want: "text Hello"},
	{name: "7.2.3.1 fragments", offer: noContext, send: []frame{{first: 0x41, payload: "\xf2\x48\xcd"}, {first: finCont, payload: "\xc9\xc9\x07\x00"}}, want: "text Hello"},
	{name: "7.2.3.2 the window before", offer: takeover, send: []frame{{first: packedText, payload: "\xf2\x48\xcd\xc9\xc9\x07\x00"}, {first: packedText, payload: "\xf2\x00\x11\x00\x00"}}, want: "text Hello | text Hello"},
	{name: "7.2.3.3 not compressed", offer: noContext, send: []frame{{first: packedText, payload: "\x00\x05\x00\xfa\xff\x48\x65\x6c\x6c\x6f\x00"}}, want: "text Hello"},
	{name: "7.2.3.4 a last block", offer: noContext, send: []frame{{first: packedText, payload: "\xf3\x48\xcd\xc9\xc9\x07\x00\x00"}}, want: "text Hello"},
	{name: "7.2.3.5 two blocks", offer: noContext, send: []frame{{first: packedText, payload: "\xf2\x48\x05\x00\x00\x00\xff\xff\xca\xc9\xc9\x07\x00"}}, want: "text Hello"},
	{name: "7.2.3.6 an empty message", offer: noContext, send: []frame{{first: packedText, payload: "\x00"}}, want: "text "},
	{name: "messages after a last block", offer: noContext, send: []frame{{first: packedText, payload: "\xf3\x48\xcd\xc9\xc9\x07\x00\x00"}, {first: packedText, payload: packed("again")}}, want: "text Hello | text again"},
	{name: "a message without compression", offer: noContext, send: []frame{{first: finText, payload: "plain"}}, want: "text plain"},
	{name: "with and without in turn", offer: noContext, send: []frame{{first: packedText, payload: packed("a")}, {first: finText, payload: "b"}, {first: packedBinary, payload: packed("c")}}, want: "text a | text b | binary c"},
	{name: "a ping between packed fragments", offer: noContext, send: []frame{{first: 0x41, payload: "\xf2\x48\xcd"}, {first: finPing, payload: "p"}, {first: finCont, payload: "\xc9\xc9\x07\x00"}}, want: "pong p | text Hello"},
	{name: "empty packed fragments", offer: noContext, send: []frame{{first: 0x41}, {first: 0x00, payload: "\xf2\x48\xcd\xc9\xc9\x07\x00"}, {first: finCont}}, want: "text Hello"},
	{name: "a large packed message", offer: noContext, send: []frame{{first: packedText, payload: packed(x(limit))}}, want: echoOf("text", x(limit))},

	// 7.1.2.1: the window that the client asks for, with a text that repeats itself beyond it
	{name: "a window of 9 bits", side: asServer, offer: deflate + "; server_max_window_bits=9", send: []frame{{first: finText, payload: distant()}}, want: echoOf("text", distant())},
	{name: "a window of 12 bits", side: asServer, offer: deflate + "; server_max_window_bits=12", send: []frame{{first: finText, payload: distant()}, {first: finText, payload: distant()}}, want: echoOf("text", distant()) + " | " + echoOf("text", distant())},
	{name: "a window of 15 bits", side: asServer, offer: deflate + "; server_max_window_bits=15", send: []frame{{first: finText, payload: distant()}}, want: echoOf("text", distant())},

	// section 6: RSV1 is for the first frame of a message
	{name: "RSV1 in a packed continuation", offer: noContext, send: []frame{{first: 0x41, payload: "\xf2\x48\xcd"}, {first: finCont | 0x40, payload: "\xc9\xc9\x07\x00"}}, want: "close 1002"},
	{name: "RSV1 in a plain continuation", offer: noContext, send: []frame{{first: 0x01, payload: "a"}, {first: finCont | 0x40, payload: "b"}}, want: "close 1002"},
	{name: "RSV1 in a ping with compression", offer: noContext, send: []frame{{first: finPing | 0x40}}, want: "close 1002"},
	{name: "RSV1 in a close with compression", offer: noContext, send: []frame{{first: finClose | 0x40, payload: "\x03\xe8"}}, want: "close 1002"},
	{name: "RSV2 with compression", offer: noContext, send: []frame{{first: finText | 0x60, payload: packed("a")}}, want: "close 1002"},
	{name: "RSV3 with compression", offer: noContext, send: []frame{{first: finText | 0x10, payload: "a"}}, want: "close 1002"},

	// malformed data
	{name: "a block of an unknown kind", offer: noContext, send: []frame{{first: packedText, payload: "\xff\xff\xff"}}, want: "close 1007/close 1002"},
	{name: "a stored block that is cut", offer: noContext, send: []frame{{first: packedText, payload: "\x00\x10\x00\xef\xff\x48"}}, want: "close 1007/close 1002"},
	{name: "lengths that do not match", offer: noContext, send: []frame{{first: packedText, payload: "\x00\x05\x00\x00\x00\x48\x65\x6c\x6c\x6f\x00"}}, want: "close 1007/close 1002"},
	{name: "a reference to nothing", offer: noContext, send: []frame{{first: packedText, payload: "\xf2\x00\x11\x00\x00"}}, want: "close 1007/close 1002"},
	{name: "bad text that is packed", offer: noContext, send: []frame{{first: packedText, payload: packed("a\xffb")}}, want: "close 1007"},
	{name: "packed text that ends within a character", offer: noContext, send: []frame{{first: packedText, payload: packed("a\xe2\x82")}}, want: "close 1007"},
	{name: "a bomb", offer: noContext, send: []frame{{first: packedBinary, payload: packed(strings.Repeat("\x00", 32<<20))}}, want: "close 1009"},
	{name: "a small bomb", offer: noContext, send: []frame{{first: packedText, payload: packed(x(limit + 1))}}, want: "close 1009"},
	{name: "a bomb in fragments", offer: noContext, send: []frame{{first: 0x42, payload: packed(strings.Repeat("\x00", 1<<20))[:600]}, {first: finCont, payload: packed(strings.Repeat("\x00", 1<<20))[600:]}}, want: "close 1009"},
}
