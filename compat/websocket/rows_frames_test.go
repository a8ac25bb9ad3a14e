package websocket

import "strings"

// side is a role of the side under test.
type side int

const (
	both side = iota
	asServer
	asClient
)

// row is an exchange of bytes after the opening handshake, with a side that returns every
// message. Its limit for messages is 65,536 bytes.
type row struct {
	name string
	send []frame
	// want are the frames that the side must send, separated by " | ". An element may have
	// alternatives after slashes: "close 1002/1007". If no Close frame is wanted, the side must
	// still answer afterwards.
	want string
	side side
	// end leaves out the last bytes of send, and ends the connection there.
	end int
	// offer is the element for permessage-deflate of the client, or its answer by the server.
	offer string
}

// limit is the limit for the messages in rows.
const limit = 1 << 16

func echoOf(kind, p string) string { return kind + " " + brief(p) }

// The rows of RFC 6455 sections 5, 7 and 8.
var frameRows = []row{
	{name: "text", send: []frame{{first: finText, payload: "hello"}}, want: "text hello"},
	{name: "empty text", send: []frame{{first: finText}}, want: "text "},
	{name: "binary", send: []frame{{first: finBinary, payload: "\x01\xff"}}, want: echoOf("binary", "\x01\xff")},
	{name: "text of 125", send: []frame{{first: finText, payload: x(125)}}, want: echoOf("text", x(125))},
	{name: "text of 126", send: []frame{{first: finText, payload: x(126)}}, want: echoOf("text", x(126))},
	{name: "text of 65535", send: []frame{{first: finText, payload: x(65535)}}, want: echoOf("text", x(65535))},
	{name: "text of 65536", send: []frame{{first: finText, payload: x(65536)}}, want: echoOf("text", x(65536))},
	{name: "two messages", send: []frame{{first: finText, payload: "a"}, {first: finBinary, payload: "b"}}, want: "text a | binary b"},

	// 5.2: the length in its shortest form, the highest bit of 64 is 0
	{name: "length 5 in 16 bits", send: []frame{{first: finText, payload: "hello", form: 126}}, want: "close 1002"},
	{name: "length 125 in 16 bits", send: []frame{{first: finText, payload: x(125), form: 126}}, want: "close 1002"},
	{name: "length 5 in 64 bits", send: []frame{{first: finText, payload: "hello", form: 127}}, want: "close 1002"},
	{name: "length 65535 in 64 bits", send: []frame{{first: finText, payload: x(65535), form: 127}}, want: "close 1002"},
	{name: "length 0 in 16 bits", send: []frame{{raw: "\x81\xfe\x00\x00\x00\x00\x00\x00"}}, want: "close 1002", side: asServer},
	{name: "length with the highest bit", send: []frame{{first: finText, form: 127, length: 1 << 63}}, want: "close 1002"},
	{name: "length of all bits", send: []frame{{first: finBinary, form: 127, length: 1<<64 - 1}}, want: "close 1002"},
	{name: "length with the highest bit and 5", send: []frame{{first: finText, form: 127, length: 1<<63 + 5, payload: "hello"}}, want: "close 1002"},
	{name: "length of 2^62", send: []frame{{first: finText, form: 127, length: 1 << 62}}, want: "close 1009"},
	{name: "length of 2^63-1 in a fragment", send: []frame{{first: 0x02, payload: "a"}, {first: finCont, form: 127, length: 1<<63 - 1}}, want: "close 1009"},

	// 5.1: masks
	{name: "unmasked text", send: []frame{{first: finText, payload: "hello", otherMask: true}}, want: "close 1002", side: asServer},
	{name: "unmasked empty text", send: []frame{{first: finText, otherMask: true}}, want: "close 1002", side: asServer},
	{name: "unmasked ping", send: []frame{{first: finPing, otherMask: true}}, want: "close 1002", side: asServer},
	{name: "unmasked close", send: []frame{{first: finClose, payload: "\x03\xe8", otherMask: true}}, want: "close 1002", side: asServer},
	{name: "unmasked continuation", send: []frame{{first: 0x01, payload: "a"}, {first: finCont, payload: "b", otherMask: true}}, want: "close 1002", side: asServer},
	{name: "masked text", send: []frame{{first: finText, payload: "hello", otherMask: true}}, want: "close 1002", side: asClient},
	{name: "masked ping", send: []frame{{first: finPing, payload: "p", otherMask: true}}, want: "close 1002", side: asClient},
	{name: "masked close", send: []frame{{first: finClose, payload: "\x03\xe8", otherMask: true}}, want: "close 1002", side: asClient},

	// 5.2: reserved bits
	{name: "RSV1 in text", send: []frame{{first: finText | 0x40, payload: "a"}}, want: "close 1002"},
	{name: "RSV2 in text", send: []frame{{first: finText | 0x20, payload: "a"}}, want: "close 1002"},
	{name: "RSV3 in text", send: []frame{{first: finText | 0x10, payload: "a"}}, want: "close 1002"},
	{name: "RSV1 in a later fragment", send: []frame{{first: 0x01, payload: "a"}, {first: finCont | 0x40, payload: "b"}}, want: "close 1002"},
	{name: "RSV1 in ping", send: []frame{{first: finPing | 0x40}}, want: "close 1002"},
	{name: "RSV2 in pong", send: []frame{{first: finPong | 0x20}}, want: "close 1002"},
	{name: "RSV3 in close", send: []frame{{first: finClose | 0x10, payload: "\x03\xe8"}}, want: "close 1002"},
	{name: "RSV bits after a message", send: []frame{{first: finText, payload: "a"}, {first: finText | 0x70, payload: "b"}}, want: "text a | close 1002"},

	// 5.2: opcodes
	{name: "opcode 3", send: []frame{{first: 0x83, payload: "a"}}, want: "close 1002"},
	{name: "opcode 4", send: []frame{{first: 0x84}}, want: "close 1002"},
	{name: "opcode 5 in a fragment", send: []frame{{first: 0x05}}, want: "close 1002"},
	{name: "opcode 7", send: []frame{{first: 0x87, payload: "a"}}, want: "close 1002"},
	{name: "opcode 11", send: []frame{{first: 0x8b}}, want: "close 1002"},
	{name: "opcode 12", send: []frame{{first: 0x8c, payload: "a"}}, want: "close 1002"},
	{name: "opcode 15", send: []frame{{first: 0x8f}}, want: "close 1002"},
	{name: "opcode 3 between fragments", send: []frame{{first: 0x01, payload: "a"}, {first: 0x83}}, want: "close 1002"},

	// 5.4: fragments
	{name: "two fragments", send: []frame{{first: 0x01, payload: "a"}, {first: finCont, payload: "b"}}, want: "text ab"},
	{name: "empty first and last fragment", send: []frame{{first: 0x02}, {first: 0x00, payload: "ab"}, {first: finCont}}, want: "binary ab"},
	{name: "only empty fragments", send: []frame{{first: 0x01}, {first: 0x00}, {first: finCont}}, want: "text "},
	{name: "ping between fragments", send: []frame{{first: 0x01, payload: "a"}, {first: finPing, payload: "p"}, {first: finCont, payload: "b"}}, want: "pong p | text ab"},
	{name: "pong between fragments", send: []frame{{first: 0x01, payload: "a"}, {first: finPong}, {first: finCont, payload: "b"}}, want: "text ab"},
	{name: "close between fragments", send: []frame{{first: 0x01, payload: "a"}, closeWith(1000, "")}, want: "close 1000"},
	{name: "continuation of nothing", send: []frame{{first: finCont, payload: "a"}}, want: "close 1002"},
	{name: "first continuation of nothing", send: []frame{{first: 0x00, payload: "a"}}, want: "close 1002"},
	{name: "continuation after a message", send: []frame{{first: finText, payload: "a"}, {first: finCont, payload: "b"}}, want: "text a | close 1002"},
	{name: "text within text", send: []frame{{first: 0x01, payload: "a"}, {first: finText, payload: "b"}}, want: "close 1002"},
	{name: "binary within text", send: []frame{{first: 0x01, payload: "a"}, {first: 0x02, payload: "b"}}, want: "close 1002"},

	// 5.5: control frames
	{name: "ping", send: []frame{{first: finPing, payload: "p"}}, want: "pong p"},
	{name: "empty ping", send: []frame{{first: finPing}}, want: "pong "},
	{name: "ping of 125", send: []frame{{first: finPing, payload: x(125)}}, want: echoOf("pong", x(125))},
	{name: "ping of bytes", send: []frame{{first: finPing, payload: "\x00\xff"}}, want: echoOf("pong", "\x00\xff")},
	{name: "ping of 126", send: []frame{{first: finPing, payload: x(126)}}, want: "close 1002"},
	{name: "pong of 126", send: []frame{{first: finPong, payload: x(126)}}, want: "close 1002"},
	{name: "close of 126", send: []frame{{first: finClose, payload: "\x03\xe8" + x(124)}}, want: "close 1002"},
	{name: "ping of 65536", send: []frame{{first: finPing, payload: x(65536)}}, want: "close 1002"},
	{name: "ping with its length in 16 bits", send: []frame{{first: finPing, payload: "p", form: 126}}, want: "close 1002"},
	{name: "fragmented ping", send: []frame{{first: 0x09, payload: "p"}}, want: "close 1002"},
	{name: "fragmented pong", send: []frame{{first: 0x0a}}, want: "close 1002"},
	{name: "fragmented close", send: []frame{{first: 0x08, payload: "\x03\xe8"}}, want: "close 1002"},
	{name: "pong that nobody asked for", send: []frame{{first: finPong, payload: "x"}, {first: finText, payload: "a"}}, want: "text a"},
	{name: "many pings", send: repeat(frame{first: finPing, payload: "p"}, 5), want: "pong p | pong p | pong p | pong p | pong p"},

	// 8.1: text is UTF-8
	{name: "text in UTF-8", send: []frame{{first: finText, payload: "κόσμε€😀"}}, want: "text κόσμε€😀"},
	{name: "a character in two fragments", send: []frame{{first: 0x01, payload: "\xe2\x82"}, {first: finCont, payload: "\xac"}}, want: "text €"},
	{name: "a character in four fragments", send: []frame{{first: 0x01, payload: "\xf0"}, {first: 0x00, payload: "\x9f"}, {first: 0x00, payload: "\x98"}, {first: finCont, payload: "\x80"}}, want: "text 😀"},
	{name: "a ping within a character", send: []frame{{first: 0x01, payload: "\xe2"}, {first: finPing, payload: "p"}, {first: finCont, payload: "\x82\xac"}}, want: "pong p | text €"},
	{name: "bad text", send: []frame{{first: finText, payload: "a\xffb"}}, want: "close 1007"},
	{name: "a lone continuation byte", send: []frame{{first: finText, payload: "\x80"}}, want: "close 1007"},
	{name: "an overlong form", send: []frame{{first: finText, payload: "\xc0\xaf"}}, want: "close 1007"},
	{name: "a surrogate", send: []frame{{first: finText, payload: "\xed\xa0\x80"}}, want: "close 1007"},
	{name: "beyond U+10FFFF", send: []frame{{first: finText, payload: "\xf4\x90\x80\x80"}}, want: "close 1007"},
	{name: "text that ends within a character", send: []frame{{first: finText, payload: "a\xe2\x82"}}, want: "close 1007"},
	{name: "fragments that end within a character", send: []frame{{first: 0x01, payload: "a"}, {first: finCont, payload: "\xe2\x82"}}, want: "close 1007"},
	{name: "bad text over two fragments", send: []frame{{first: 0x01, payload: "\xe2"}, {first: finCont, payload: "a"}}, want: "close 1007"},
	{name: "bad text before the last fragment", send: []frame{{first: 0x01, payload: "\xff"}}, want: "close 1007"},
	{name: "bad binary is fine", send: []frame{{first: finBinary, payload: "\xff"}}, want: echoOf("binary", "\xff")},

	// 5.5.1 and 7: closing
	{name: "close without a code", send: []frame{{first: finClose}}, want: "close/close 1000"},
	{name: "close 1000", send: []frame{closeWith(1000, "")}, want: "close 1000"},
	{name: "close 1000 with a reason", send: []frame{closeWith(1000, "bye ä")}, want: "close 1000"},
	{name: "close with a reason of 123", send: []frame{closeWith(1000, x(123))}, want: "close 1000"},
	{name: "close 1001", send: []frame{closeWith(1001, "")}, want: "close 1001"},
	{name: "close 1002", send: []frame{closeWith(1002, "")}, want: "close 1002"},
	{name: "close 1003", send: []frame{closeWith(1003, "")}, want: "close 1003"},
	{name: "close 1007", send: []frame{closeWith(1007, "")}, want: "close 1007"},
	{name: "close 1008", send: []frame{closeWith(1008, "")}, want: "close 1008"},
	{name: "close 1009", send: []frame{closeWith(1009, "")}, want: "close 1009"},
	{name: "close 1010", send: []frame{closeWith(1010, "")}, want: "close 1010", side: asServer},
	{name: "close 1011", send: []frame{closeWith(1011, "")}, want: "close 1011"},
	{name: "close 1012", send: []frame{closeWith(1012, "")}, want: "close 1012"},
	{name: "close 1013", send: []frame{closeWith(1013, "")}, want: "close 1013"},
	{name: "close 1014", send: []frame{closeWith(1014, "")}, want: "close 1014"},
	{name: "close 3000", send: []frame{closeWith(3000, "")}, want: "close 3000"},
	{name: "close 3999", send: []frame{closeWith(3999, "")}, want: "close 3999"},
	{name: "close 4000", send: []frame{closeWith(4000, "")}, want: "close 4000"},
	{name: "close 4999", send: []frame{closeWith(4999, "")}, want: "close 4999"},
	{name: "close 0", send: []frame{closeWith(0, "")}, want: "close 1002"},
	{name: "close 999", send: []frame{closeWith(999, "")}, want: "close 1002"},
	{name: "close 1004", send: []frame{closeWith(1004, "")}, want: "close 1002"},
	{name: "close 1005", send: []frame{closeWith(1005, "")}, want: "close 1002"},
	{name: "close 1006", send: []frame{closeWith(1006, "")}, want: "close 1002"},
	{name: "close 1015", send: []frame{closeWith(1015, "")}, want: "close 1002"},
	{name: "close 1016", send: []frame{closeWith(1016, "")}, want: "close 1002"},
	{name: "close 1100", send: []frame{closeWith(1100, "")}, want: "close 1002"},
	{name: "close 2000", send: []frame{closeWith(2000, "")}, want: "close 1002"},
	{name: "close 2999", send: []frame{closeWith(2999, "")}, want: "close 1002"},
	{name: "close 5000", send: []frame{closeWith(5000, "")}, want: "close 1002"},
	{name: "close 65535", send: []frame{closeWith(65535, "")}, want: "close 1002"},
	{name: "close of one byte", send: []frame{{first: finClose, payload: "\x03"}}, want: "close 1002"},
	{name: "close with a bad reason", send: []frame{closeWith(1000, "a\xff")}, want: "close 1007"},
	{name: "close with half a character", send: []frame{closeWith(1000, "\xe2\x82")}, want: "close 1007"},
	{name: "text before close", send: []frame{{first: finText, payload: "a"}, closeWith(1000, "")}, want: "text a | close 1000"},
	{name: "text after close", send: []frame{closeWith(1000, ""), {first: finText, payload: "a"}}, want: "close 1000"},
	{name: "ping after close", send: []frame{closeWith(1001, ""), {first: finPing, payload: "p"}}, want: "close 1001"},
	{name: "close after close", send: []frame{closeWith(1001, ""), closeWith(1000, "")}, want: "close 1001"},
	{name: "garbage after close", send: []frame{closeWith(1000, ""), {raw: "\xff\xff\xff\xff"}}, want: "close 1000"},
	{name: "more after a fault", send: []frame{{first: 0x83}, {first: finText, payload: x(5000)}, {first: finPing}}, want: "close 1002"},

	// the end of the connection without a Close frame: it may still be answered with one
	{name: "the end within a head", send: []frame{{first: finText, payload: x(126)}}, end: 126 + 5, want: "close 1002/close 1000/end", side: asServer},
	{name: "the end within a message", send: []frame{{first: finText, payload: "abc"}}, end: 1, want: "close 1002/close 1000/end"},
	{name: "the end between fragments", send: []frame{{first: 0x01, payload: "abc"}, {raw: "x"}}, end: 1, want: "close 1002/close 1000/end"},
	{name: "the end after a message", send: []frame{{first: finText, payload: "abc"}, {raw: "x"}}, end: 1, want: "text abc | close 1002/close 1000/end"},

	// 7.4.1: messages that are too large
	{name: "text above the limit", send: []frame{{first: finText, payload: x(limit + 1)}}, want: "close 1009"},
	{name: "a head above the limit", send: []frame{{first: finBinary, form: 127, length: 1 << 31}}, want: "close 1009"},
	{name: "fragments at the limit", send: []frame{{first: 0x01, payload: x(limit - 1)}, {first: finCont, payload: "y"}}, want: echoOf("text", x(limit-1)+"y")},
	{name: "fragments above the limit", send: []frame{{first: 0x01, payload: x(limit)}, {first: finCont, payload: "y"}}, want: "close 1009"},
	{name: "messages together above the limit", send: []frame{{first: finText, payload: x(limit)}, {first: finText, payload: "y"}}, want: echoOf("text", x(limit)) + " | text y"},
}

func x(n int) string { return strings.Repeat("x", n) }

func repeat(f frame, n int) (fs []frame) {
	for range n {
		fs = append(fs, f)
	}
	return fs
}
