package websocket

// The key of RFC 6455 section 1.3 and its answer.
const (
	sampleKey    = "dGhlIHNhbXBsZSBub25jZQ=="
	sampleAccept = "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="
)

// opening is an opening handshake of a client.
type opening struct {
	name    string
	line    string   // instead of GET / HTTP/1.1
	without string   // this field of the usual ones is left out
	with    []string // further fields
	// status is the status of the response, or several with slashes.
	status string
	// answer are fields of the response, "Name: value". An empty value means that there is no
	// such field.
	answer []string
}

// usualFields are the fields of a request in which nothing is wrong.
var usualFields = []string{
	"Host: 127.0.0.1:80", "Upgrade: websocket", "Connection: Upgrade",
	"Sec-WebSocket-Key: " + sampleKey, "Sec-WebSocket-Version: 13",
}

var accepted = []string{"Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Accept: " + sampleAccept, "Sec-WebSocket-Protocol:", "Sec-WebSocket-Extensions:"}

// badRequest and upgradeRequired are the responses that RFC 6455 section 4.2.2 and RFC 9110
// section 15.5.22 leave a server for what is not an opening handshake.
const badRequest, upgradeRequired = "400", "400/426"

// openings are the rows of RFC 6455 section 4.
var openings = []opening{
	{name: "usual", status: "101", answer: accepted},
	{name: "Upgrade in other case", without: "Upgrade", with: []string{"Upgrade: WebSocket"}, status: "101", answer: accepted},
	{name: "Connection in other case", without: "Connection", with: []string{"Connection: upgrade"}, status: "101", answer: accepted},
	{name: "Connection with keep-alive", without: "Connection", with: []string{"Connection: keep-alive, Upgrade"}, status: "101", answer: accepted},
	{name: "Connection with keep-alive after it", without: "Connection", with: []string{"Connection: upgrade,keep-alive"}, status: "101", answer: accepted},
	{name: "two Connection lines", without: "Connection", with: []string{"Connection: keep-alive", "Connection: Upgrade"}, status: "101", answer: accepted},
	{name: "two Connection lines in turn", without: "Connection", with: []string{"Connection: Upgrade", "Connection: keep-alive"}, status: "101", answer: accepted},
	{name: "Upgrade with another", without: "Upgrade", with: []string{"Upgrade: foo/2, websocket"}, status: "101", answer: accepted},
	{name: "two Upgrade lines", without: "Upgrade", with: []string{"Upgrade: foo", "Upgrade: websocket"}, status: "101", answer: accepted},
	{name: "names in small letters", without: "Sec-WebSocket-Key", with: []string{"sec-websocket-key: " + sampleKey}, status: "101", answer: accepted},
	{name: "blanks around values", without: "Sec-WebSocket-Key", with: []string{"Sec-WebSocket-Key:  " + sampleKey + " \t"}, status: "101", answer: accepted},
	{name: "absolute target", line: "GET http://127.0.0.1:80/ HTTP/1.1", status: "101", answer: accepted},
	{name: "own origin", with: []string{"Origin: http://127.0.0.1:80"}, status: "101"},
	{name: "own origin in other case", without: "Host", with: []string{"Host: Example.com", "Origin: http://example.COM"}, status: "101"},
	{name: "unknown fields", with: []string{"X-Other: 1", "Cookie: a=b"}, status: "101", answer: accepted},
	{name: "unknown extension", with: []string{"Sec-WebSocket-Extensions: x-foo; a=1"}, status: "101", answer: accepted},

	{name: "POST", line: "POST / HTTP/1.1", with: []string{"Content-Length: 0"}, status: "400/405/426"},
	{name: "HEAD", line: "HEAD / HTTP/1.1", status: "400/405/426"},
	{name: "PUT", line: "PUT / HTTP/1.1", with: []string{"Content-Length: 0"}, status: "400/405/426"},
	{name: "HTTP/1.0", line: "GET / HTTP/1.0", status: "400/426/505"},
	{name: "without Host", without: "Host", status: badRequest},
	{name: "without Upgrade", without: "Upgrade", status: upgradeRequired},
	{name: "empty Upgrade", without: "Upgrade", with: []string{"Upgrade:"}, status: upgradeRequired},
	{name: "other Upgrade", without: "Upgrade", with: []string{"Upgrade: h2c"}, status: upgradeRequired},
	{name: "longer Upgrade", without: "Upgrade", with: []string{"Upgrade: websockets"}, status: upgradeRequired},
	{name: "websocket in words", without: "Upgrade", with: []string{"Upgrade: no websocket"}, status: upgradeRequired},
	{name: "without Connection", without: "Connection", status: upgradeRequired},
	{name: "other Connection", without: "Connection", with: []string{"Connection: keep-alive"}, status: upgradeRequired},
	{name: "longer Connection", without: "Connection", with: []string{"Connection: upgraded"}, status: upgradeRequired},
	{name: "without key", without: "Sec-WebSocket-Key", status: badRequest},
	{name: "empty key", without: "Sec-WebSocket-Key", with: []string{"Sec-WebSocket-Key:"}, status: badRequest},
	{name: "key of 15 bytes", without: "Sec-WebSocket-Key", with: []string{"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25j"}, status: badRequest},
	{name: "key of 17 bytes", without: "Sec-WebSocket-Key", with: []string{"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZWY="}, status: badRequest},
	{name: "key of 3 bytes", without: "Sec-WebSocket-Key", with: []string{"Sec-WebSocket-Key: YWJj"}, status: badRequest},
	{name: "key without padding", without: "Sec-WebSocket-Key", with: []string{"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ"}, status: badRequest},
	{name: "key of other letters", without: "Sec-WebSocket-Key", with: []string{"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25j_-=="}, status: badRequest},
	{name: "key with a blank", without: "Sec-WebSocket-Key", with: []string{"Sec-WebSocket-Key: dGhlIHNhbXBs ZSBub25jZQ=="}, status: badRequest},
	{name: "key with a comma", without: "Sec-WebSocket-Key", with: []string{"Sec-WebSocket-Key: " + sampleKey + ", " + sampleKey}, status: badRequest},
	{name: "two keys", with: []string{"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA=="}, status: badRequest},
	{name: "the same key twice", with: []string{"Sec-WebSocket-Key: " + sampleKey}, status: badRequest},
	{name: "without version", without: "Sec-WebSocket-Version", status: upgradeRequired},
	{name: "version 8", without: "Sec-WebSocket-Version", with: []string{"Sec-WebSocket-Version: 8"}, status: "426", answer: []string{"Sec-WebSocket-Version: 13"}},
	{name: "version 0", without: "Sec-WebSocket-Version", with: []string{"Sec-WebSocket-Version: 0"}, status: "426", answer: []string{"Sec-WebSocket-Version: 13"}},
	{name: "version 14", without: "Sec-WebSocket-Version", with: []string{"Sec-WebSocket-Version: 14"}, status: "426", answer: []string{"Sec-WebSocket-Version: 13"}},
	{name: "version 013", without: "Sec-WebSocket-Version", with: []string{"Sec-WebSocket-Version: 013"}, status: upgradeRequired},
	{name: "version 1313", without: "Sec-WebSocket-Version", with: []string{"Sec-WebSocket-Version: 1313"}, status: upgradeRequired},
	{name: "versions 8 and 13", without: "Sec-WebSocket-Version", with: []string{"Sec-WebSocket-Version: 8, 13"}, status: upgradeRequired},
	{name: "two versions", with: []string{"Sec-WebSocket-Version: 8"}, status: upgradeRequired},
	{name: "another origin", with: []string{"Origin: http://evil.example"}, status: "403"},
	{name: "an origin with another port", with: []string{"Origin: http://127.0.0.1:81"}, status: "403"},
	{name: "an origin that begins alike", with: []string{"Origin: http://127.0.0.1:80.evil.example"}, status: "403"},
	{name: "origin null", with: []string{"Origin: null"}, status: "403"},

	// 4.2.2: subprotocols
	{name: "a subprotocol", with: []string{"Sec-WebSocket-Protocol: chat.v1"}, status: "101", answer: []string{"Sec-WebSocket-Protocol: chat.v1"}},
	{name: "one of two subprotocols", with: []string{"Sec-WebSocket-Protocol: other, chat.v1"}, status: "101", answer: []string{"Sec-WebSocket-Protocol: chat.v1"}},
	{name: "subprotocols in two lines", with: []string{"Sec-WebSocket-Protocol: other", "Sec-WebSocket-Protocol: chat.v2"}, status: "101", answer: []string{"Sec-WebSocket-Protocol: chat.v2"}},
	{name: "another subprotocol", with: []string{"Sec-WebSocket-Protocol: other"}, status: "101", answer: []string{"Sec-WebSocket-Protocol:"}},
	{name: "a subprotocol in other case", with: []string{"Sec-WebSocket-Protocol: CHAT.V1"}, status: "101", answer: []string{"Sec-WebSocket-Protocol:"}},

	// RFC 7692 section 7.1: offers that a server accepts, and that it must decline
	{name: "deflate", with: offers(deflate), status: "101", answer: takes(deflate)},
	{name: "deflate after another extension", with: offers("x-foo, " + deflate), status: "101", answer: takes(deflate)},
	{name: "deflate in a second line", with: []string{"Sec-WebSocket-Extensions: x-foo", "Sec-WebSocket-Extensions: " + deflate}, status: "101", answer: takes(deflate)},
	{name: "deflate with client_max_window_bits", with: offers(deflate + "; client_max_window_bits"), status: "101", answer: takes(deflate)},
	{name: "deflate with client_max_window_bits=10", with: offers(deflate + "; client_max_window_bits=10"), status: "101", answer: takes(deflate)},
	{name: "deflate with a quoted value", with: offers(deflate + `; client_max_window_bits="15"`), status: "101", answer: takes(deflate)},
	{name: "deflate without context of the server", with: offers(deflate + "; server_no_context_takeover"), status: "101", answer: takes("server_no_context_takeover")},
	{name: "deflate without context of the client", with: offers(deflate + "; client_no_context_takeover"), status: "101", answer: takes(deflate)},
	{name: "deflate with server_max_window_bits=15", with: offers(deflate + "; server_max_window_bits=15"), status: "101", answer: takes("server_max_window_bits=15")},
	{name: "a bad offer before a good one", with: offers(deflate + "; x=1, " + deflate), status: "101", answer: takes(deflate)},
	{name: "an unknown parameter", with: offers(deflate + "; x"), status: "101", answer: declined},
	{name: "server_max_window_bits=7", with: offers(deflate + "; server_max_window_bits=7"), status: "101", answer: declined},
	{name: "server_max_window_bits=16", with: offers(deflate + "; server_max_window_bits=16"), status: "101", answer: declined},
	{name: "server_max_window_bits=08", with: offers(deflate + "; server_max_window_bits=08"), status: "101", answer: declined},
	{name: "server_max_window_bits=x", with: offers(deflate + "; server_max_window_bits=x"), status: "101", answer: declined},
	{name: "server_max_window_bits", with: offers(deflate + "; server_max_window_bits"), status: "101", answer: declined},
	{name: "client_max_window_bits=7", with: offers(deflate + "; client_max_window_bits=7"), status: "101", answer: declined},
	{name: "client_max_window_bits=16", with: offers(deflate + "; client_max_window_bits=16"), status: "101", answer: declined},
	{name: "server_no_context_takeover=1", with: offers(deflate + "; server_no_context_takeover=1"), status: "101", answer: declined},
	{name: "client_no_context_takeover=true", with: offers(deflate + "; client_no_context_takeover=true"), status: "101", answer: declined},
	{name: "server_no_context_takeover twice", with: offers(deflate + "; server_no_context_takeover; server_no_context_takeover"), status: "101", answer: declined},
	{name: "client_no_context_takeover twice", with: offers(deflate + "; client_no_context_takeover; client_no_context_takeover"), status: "101", answer: declined},
	{name: "server_max_window_bits twice", with: offers(deflate + "; server_max_window_bits=10; server_max_window_bits=11"), status: "101", answer: declined},
	{name: "client_max_window_bits twice", with: offers(deflate + "; client_max_window_bits; client_max_window_bits"), status: "101", answer: declined},

	// RFC 6455 section 9.1: fields that are malformed
	{name: "extensions without a name", with: offers("; a"), status: badRequest},
	{name: "an extension with half a parameter", with: offers(deflate + "; a="), status: badRequest},
	{name: "an extension with an open quote", with: offers(deflate + `; a="x`), status: badRequest},
	{name: "an extension with a blank", with: offers("permessage deflate"), status: badRequest},
}

func offers(value string) []string { return []string{"Sec-WebSocket-Extensions: " + value} }

// takes is an answer that has a text in Sec-WebSocket-Extensions.
func takes(part string) []string { return []string{"Sec-WebSocket-Extensions~ " + part} }

var declined = []string{"Sec-WebSocket-Extensions:"}

// reply is a response to the opening handshake of a client. ACCEPT in it is the value for the
// client's key.
type reply struct {
	name string
	text string
	good bool
}

const (
	switching = "HTTP/1.1 101 Switching Protocols\r\n"
	upgrading = "Upgrade: websocket\r\nConnection: Upgrade\r\n"
	answering = "Sec-WebSocket-Accept: ACCEPT\r\n"
)

// replies are the rows of RFC 6455 section 4.1. The client has offered chat.v1, and compression
// in those whose names begin with deflate.
var replies = []reply{
	{"usual", switching + upgrading + answering + "\r\n", true},
	{"other words and case", "HTTP/1.1 101 Yes\r\nupgrade: WebSocket\r\nCONNECTION: upgrade\r\nsec-websocket-accept: ACCEPT\r\n\r\n", true},
	{"Connection with another", switching + "Upgrade: websocket\r\nConnection: keep-alive, Upgrade\r\n" + answering + "\r\n", true},
	{"two Connection lines", switching + "Upgrade: websocket\r\nConnection: keep-alive\r\nConnection: Upgrade\r\n" + answering + "\r\n", true},
	{"blanks around the accept", switching + upgrading + "Sec-WebSocket-Accept:   ACCEPT \r\n\r\n", true},
	{"the subprotocol", switching + upgrading + answering + "Sec-WebSocket-Protocol: chat.v1\r\n\r\n", true},
	{"deflate", switching + upgrading + answering + "Sec-WebSocket-Extensions: permessage-deflate\r\n\r\n", true},
	{"deflate without contexts", switching + upgrading + answering + "Sec-WebSocket-Extensions: permessage-deflate; server_no_context_takeover; client_no_context_takeover\r\n\r\n", true},
	{"deflate with an empty element", switching + upgrading + answering + "Sec-WebSocket-Extensions: , permessage-deflate; server_no_context_takeover; client_no_context_takeover\r\n\r\n", true},

	{"status 200", "HTTP/1.1 200 OK\r\n" + upgrading + answering + "\r\n", false},
	{"status 100 and the end", "HTTP/1.1 100 Continue\r\n\r\n", false},
	{"status 302", "HTTP/1.1 302 Found\r\nLocation: /elsewhere\r\nContent-Length: 0\r\n\r\n", false},
	{"status 400", "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n", false},
	{"status 401", "HTTP/1.1 401 Unauthorized\r\nContent-Length: 4\r\n\r\nnope", false},
	{"no HTTP", "SSH-2.0-x\r\n\r\n", false},
	{"nothing", "", false},
	{"HTTP/1.0", "HTTP/1.0 101 Switching Protocols\r\n" + upgrading + answering + "\r\n", false},
	{"half a head", switching + upgrading, false},
	{"without Upgrade", switching + "Connection: Upgrade\r\n" + answering + "\r\n", false},
	{"other Upgrade", switching + "Upgrade: h2c\r\nConnection: Upgrade\r\n" + answering + "\r\n", false},
	{"longer Upgrade", switching + "Upgrade: websockets\r\nConnection: Upgrade\r\n" + answering + "\r\n", false},
	{"without Connection", switching + "Upgrade: websocket\r\n" + answering + "\r\n", false},
	{"other Connection", switching + "Upgrade: websocket\r\nConnection: keep-alive\r\n" + answering + "\r\n", false},
	{"without accept", switching + upgrading + "\r\n", false},
	{"other accept", switching + upgrading + "Sec-WebSocket-Accept: " + sampleAccept + "\r\n\r\n", false},
	{"the key as accept", switching + upgrading + "Sec-WebSocket-Accept: KEY\r\n\r\n", false},
	{"accept in small letters", switching + upgrading + "Sec-WebSocket-Accept: SMALL\r\n\r\n", false},
	{"another subprotocol", switching + upgrading + answering + "Sec-WebSocket-Protocol: other\r\n\r\n", false},
	{"two subprotocols", switching + upgrading + answering + "Sec-WebSocket-Protocol: chat.v1, other\r\n\r\n", false},
	{"another extension", switching + upgrading + answering + "Sec-WebSocket-Extensions: x-foo\r\n\r\n", false},
	{"compression that was not offered", switching + upgrading + answering + "Sec-WebSocket-Extensions: permessage-deflate; server_no_context_takeover; client_no_context_takeover\r\n\r\n", false},
	{"deflate and another extension", switching + upgrading + answering + "Sec-WebSocket-Extensions: permessage-deflate; server_no_context_takeover; client_no_context_takeover, x-foo\r\n\r\n", false},
	{"deflate twice", switching + upgrading + answering + "Sec-WebSocket-Extensions: permessage-deflate; server_no_context_takeover; client_no_context_takeover, permessage-deflate; server_no_context_takeover; client_no_context_takeover\r\n\r\n", false},
	{"deflate with an unknown parameter", switching + upgrading + answering + "Sec-WebSocket-Extensions: permessage-deflate; server_no_context_takeover; client_no_context_takeover; x\r\n\r\n", false},
	{"deflate with a parameter twice", switching + upgrading + answering + "Sec-WebSocket-Extensions: permessage-deflate; server_no_context_takeover; server_no_context_takeover; client_no_context_takeover\r\n\r\n", false},
	{"deflate with a value that it must not have", switching + upgrading + answering + "Sec-WebSocket-Extensions: permessage-deflate; server_no_context_takeover=1; client_no_context_takeover\r\n\r\n", false},
	{"deflate with server_max_window_bits=16", switching + upgrading + answering + "Sec-WebSocket-Extensions: permessage-deflate; server_no_context_takeover; client_no_context_takeover; server_max_window_bits=16\r\n\r\n", false},
	{"deflate with server_max_window_bits=7", switching + upgrading + answering + "Sec-WebSocket-Extensions: permessage-deflate; server_no_context_takeover; client_no_context_takeover; server_max_window_bits=7\r\n\r\n", false},
	{"deflate with client_max_window_bits without value", switching + upgrading + answering + "Sec-WebSocket-Extensions: permessage-deflate; server_no_context_takeover; client_no_context_takeover; client_max_window_bits\r\n\r\n", false},
	{"deflate that is malformed", switching + upgrading + answering + "Sec-WebSocket-Extensions: permessage-deflate; =\r\n\r\n", false},
}
