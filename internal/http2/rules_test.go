package http2

import (
	"slices"
	"strings"
	"testing"
)

// rule is the reaction of a connection to a peer. want is "" if there is no fault, "stop
// CODE" if the connection ends with a GOAWAY, and "reset ID CODE" if a stream does. Other
// frames are not compared.
type rule struct {
	name string
	in   *script
	want string
}

const (
	protocol = " PROTOCOL_ERROR"
	size     = " FRAME_SIZE_ERROR"
	flow     = " FLOW_CONTROL_ERROR"
	closed   = " STREAM_CLOSED"
)

// The cases of h2spec, section by section, and others.
var serverRules = []rule{
	{"3.4 no preface", newScript().raw("GET / HTTP/1.1\r\n\r\n"), "stop" + protocol},
	{"3.4 a preface that is cut off", newScript().raw("PRI * HTTP/2.0\r\n"), ""},
	{"3.4 another frame than SETTINGS", newScript().raw(Preface).frame(framePing, 0, 0, "12345678"), "stop" + protocol},
	{"3.4 an ACK before SETTINGS", newScript().raw(Preface).frame(frameSettings, flagAck, 0, ""), "stop" + protocol},
	{"4.1 an unknown type", client().frame(0xff, 0xff, 0, "1234").get(1), ""},
	{"4.1 undefined flags", client().frame(framePing, 0x16, 0, "12345678"), ""},
	{"4.1 a reserved bit", client().raw("\x00\x00\x08\x06\x00\x80\x00\x00\x0012345678"), ""},
	{"4.2 a frame of 2^14 bytes", client().post(1).data(1, flagEndStream, strings.Repeat("a", 1<<14)), ""},
	{"4.2 a larger DATA", client().post(1).data(1, 0, strings.Repeat("a", 1<<14+1)), "stop" + size},
	{"4.2 larger HEADERS", client().frame(frameHeaders, 5, 1, strings.Repeat("a", 1<<14+1)), "stop" + size},
	{"4.3 a block that cannot be decoded", client().frame(frameHeaders, 5, 1, "\xff\xff\xff\xff\xff\xff\xff"), "stop COMPRESSION_ERROR"},
	{"4.3 PRIORITY in a block", client().frame(frameHeaders, 1, 1, "").frame(framePriority, 0, 1, "12345"), "stop" + protocol},
	{"4.3 HEADERS of another stream in a block", client().frame(frameHeaders, 1, 1, "").get(3), "stop" + protocol},
	{"4.3 an unknown frame in a block", client().frame(frameHeaders, 1, 1, "").frame(0xff, 0, 1, ""), "stop" + protocol},

	{"5.1 idle: DATA", client().data(1, flagEndStream, "a"), "stop" + protocol},
	{"5.1 idle: RST_STREAM", client().reset(1, Cancel), "stop" + protocol},
	{"5.1 idle: WINDOW_UPDATE", client().window(1, 1000), "stop" + protocol},
	{"5.1 idle: CONTINUATION", client().frame(frameContinuation, 4, 1, "a"), "stop" + protocol},
	{"5.1 idle: PRIORITY", client().frame(framePriority, 0, 1, u32(3)+"a").get(1), ""},
	{"5.1 idle: even DATA", client().get(1).data(2, 0, "a"), "stop" + protocol},
	{"5.1 half-closed (remote): DATA", client().get(1).data(1, flagEndStream, "a"), "reset 1" + closed},
	{"5.1 half-closed (remote): HEADERS", client().get(1).get(1), "reset 1" + closed},
	{"5.1 half-closed (remote): CONTINUATION", client().get(1).frame(frameContinuation, 4, 1, "a"), "stop" + protocol},
	{"5.1 half-closed (remote): WINDOW_UPDATE, PRIORITY", client().get(1).window(1, 1000).frame(framePriority, 0, 1, u32(3)+"a"), ""},
	{"5.1 closed: DATA after RST_STREAM", client().post(1).reset(1, Cancel).data(1, flagEndStream, "a"), "reset 1" + closed},
	{"5.1 closed: HEADERS after RST_STREAM", client().post(1).reset(1, Cancel).get(1), "reset 1" + closed},
	{"5.1 closed: DATA twice after RST_STREAM", client().post(1).reset(1, Cancel).data(1, 0, "a").data(1, 0, "a"), "reset 1" + closed},
	{"5.1 closed: RST_STREAM, WINDOW_UPDATE, PRIORITY", client().post(1).reset(1, Cancel).reset(1, Cancel).window(1, 1).frame(framePriority, 0, 1, u32(3)+"a"), ""},
	{"5.1.1 an even id", client().get(2), "stop" + protocol},
	{"5.1.1 DATA on an id that was skipped", client().post(5).data(3, 0, "a"), "stop" + closed},
	{"5.1.1 DATA on the first id, skipped", client().get(3).data(1, flagEndStream, "a"), "stop" + closed},
	{"5.1.1 DATA on the last of those skipped", client().get(1).get(9).data(7, 0, "a"), "stop" + closed},
	{"5.1.1 empty DATA on an id that was skipped", client().get(5).data(3, flagEndStream, ""), "stop" + closed},
	{"5.1.1 DATA on the ids around those skipped", client().post(1).post(7).data(1, 0, "a").data(7, 0, "a"), ""},
	{"5.1.1 DATA beside a stream that was reset", client().post(3).get(9).reset(3, Cancel).data(3, 0, "a"), "reset 3" + closed},
	{"5.1.1 an id that falls", client().get(5).get(3), "stop" + protocol},
	{"5.3.1 HEADERS that depend on themselves", client().frame(frameHeaders, 5|flagPriority, 1, u32(1)+"a"+newScript().fields(get...)), "reset 1" + protocol},
	{"5.3.1 PRIORITY that depends on itself", client().post(1).frame(framePriority, 0, 1, u32(1)+"a"), "reset 1" + protocol},
	{"5.3.1 the same on an idle stream", client().frame(framePriority, 0, 1, u32(1)+"a"), "stop" + protocol},

	{"6.1 DATA on stream 0", client().data(0, 0, "a"), "stop" + protocol},
	{"6.1 padding", client().post(1).data(1, flagPadded|flagEndStream, "\x02abcde"), ""},
	{"6.1 more padding than content", client().post(1).data(1, flagPadded, "\x06abcde"), "stop" + protocol},
	{"6.1 as much padding as the frame has", client().post(1).data(1, flagPadded, "\x05abcde"), ""},
	{"6.1 no length of padding", client().post(1).data(1, flagPadded, ""), "stop" + size},
	{"6.2 HEADERS on stream 0", client().get(0), "stop" + protocol},
	{"6.2 padding", client().frame(frameHeaders, 5|flagPadded, 1, "\x02"+newScript().fields(get...)+"ab"), ""},
	{"6.2 more padding than content", client().frame(frameHeaders, 5|flagPadded, 1, "\x04abc"), "stop" + protocol},
	{"6.2 no room for a priority", client().frame(frameHeaders, 5|flagPriority, 1, "abc"), "stop" + size},
	{"6.2 a priority", client().frame(frameHeaders, 5|flagPriority, 1, u32(0)+"a"+newScript().fields(get...)), ""},
	{"6.3 PRIORITY on stream 0", client().frame(framePriority, 0, 0, "12345"), "stop" + protocol},
	{"6.3 PRIORITY of 4 bytes", client().post(1).frame(framePriority, 0, 1, "1234"), "reset 1" + size},
	{"6.4 RST_STREAM on stream 0", client().reset(0, Cancel), "stop" + protocol},
	{"6.4 RST_STREAM of 3 bytes", client().post(1).frame(frameRSTStream, 0, 1, "abc"), "stop" + size},
	{"6.5 SETTINGS on a stream", client().frame(frameSettings, 0, 1, ""), "stop" + protocol},
	{"6.5 an ACK with a payload", client().frame(frameSettings, flagAck, 0, "123456"), "stop" + size},
	{"6.5 SETTINGS of 5 bytes", client().frame(frameSettings, 0, 0, "12345"), "stop" + size},
	{"6.5 a second ACK", client().frame(frameSettings, flagAck, 0, ""), ""},
	{"6.5.2 ENABLE_PUSH 2", client().settings(settingPush, 2), "stop" + protocol},
	{"6.5.2 INITIAL_WINDOW_SIZE 2^31", client().settings(settingWindow, 1<<31), "stop" + flow},
	{"6.5.2 MAX_FRAME_SIZE 2^14-1", client().settings(settingFrame, 1<<14-1), "stop" + protocol},
	{"6.5.2 MAX_FRAME_SIZE 0", client().settings(settingFrame, 0), "stop" + protocol},
	{"6.5.2 MAX_FRAME_SIZE 2^24", client().settings(settingFrame, 1<<24), "stop" + protocol},
	{"6.5.2 ENABLE_CONNECT_PROTOCOL 2", client().settings(settingExtendedConnect, 2), "stop" + protocol},
	{"6.5.2 NO_RFC7540_PRIORITIES 2", client().settings(settingNoPriorities, 2), "stop" + protocol},
	{"6.5.2 all of them", client().settings(1, 0, 2, 1, 3, 0, 4, maxID, 5, 1<<24-1, 6, 0, 8, 1, 9, 1, 99, 99), ""},
	{"6.6 PUSH_PROMISE", client().frame(framePushPromise, 4, 1, u32(2)), "stop" + protocol},
	{"6.7 PING on a stream", client().frame(framePing, 0, 1, "12345678"), "stop" + protocol},
	{"6.7 PING of 6 bytes", client().frame(framePing, 0, 0, "123456"), "stop" + size},
	{"6.7 an ACK of nothing", client().frame(framePing, flagAck, 0, "12345678"), ""},
	{"6.8 GOAWAY on a stream", client().frame(frameGoAway, 0, 1, u32(0, 0)), "stop" + protocol},
	{"6.8 GOAWAY of 7 bytes", client().frame(frameGoAway, 0, 0, "1234567"), "stop" + size},
	{"6.8 GOAWAY", client().frame(frameGoAway, 0, 0, u32(0, 0)+"bye").get(1), ""},
	{"6.8 GOAWAY with more than the last", client().frame(frameGoAway, 0, 0, u32(2, 0)).frame(frameGoAway, 0, 0, u32(4, 0)), "stop" + protocol},
	{"6.9 WINDOW_UPDATE of 0", client().window(0, 0), "stop" + protocol},
	{"6.9 WINDOW_UPDATE of 0 on a stream", client().post(1).window(1, 0), "reset 1" + protocol},
	{"6.9 WINDOW_UPDATE of 3 bytes", client().frame(frameWindowUpdate, 0, 0, "abc"), "stop" + size},
	{"6.9.1 a window of 2^31-1", client().window(0, maxID-firstWindow).post(1).window(1, maxID-firstWindow), ""},
	{"6.9.1 a window beyond", client().window(0, maxID).window(0, maxID), "stop" + flow},
	{"6.9.1 a window of a stream beyond", client().post(1).window(1, maxID), "reset 1" + flow},
	{"6.9.2 a window beyond by SETTINGS", client().post(1).window(1, 1000).settings(settingWindow, maxID), "stop" + flow},
	{"6.10 CONTINUATION", continued(client(), 3), ""},
	{"6.10 CONTINUATION after END_HEADERS", client().get(1).frame(frameContinuation, 4, 1, "a"), "stop" + protocol},
	{"6.10 CONTINUATION on stream 0", client().frame(frameHeaders, 1, 1, "").frame(frameContinuation, 4, 0, "a"), "stop" + protocol},
	{"6.10 CONTINUATION on another stream", client().frame(frameHeaders, 1, 1, "").frame(frameContinuation, 4, 3, "a"), "stop" + protocol},
	{"6.10 CONTINUATION of nothing", client().frame(frameHeaders, 1, 1, "").frame(frameContinuation, 0, 1, ""), "stop ENHANCE_YOUR_CALM"},
	{"6.10 DATA in a block", client().post(1).frame(frameHeaders, 1, 1, "").data(1, 0, "a"), "stop" + protocol},
	{"7 unknown codes", client().post(1).reset(1, 0xff).frame(frameGoAway, 0, 0, u32(0, 0xff)), ""},
	{"8.1 trailers", client().post(1).data(1, 0, "a").headers(1, flagEndStream, "a: b"), ""},
	{"8.1 trailers without END_STREAM", client().post(1).headers(1, 0, "a: b"), "reset 1" + protocol},
	{"8.1 trailers with a pseudo-field", client().post(1).headers(1, flagEndStream, ":method: GET"), "reset 1" + protocol},
	{"8.1 trailers with a malformed name", client().post(1).headers(1, flagEndStream, "A: b"), "reset 1" + protocol},
	{"8.1.1 content-length of too much", client().headers(1, 0, with(post, "content-length: 1")...).data(1, flagEndStream, "ab"), "reset 1" + protocol},
	{"8.1.1 content-length of too little", client().headers(1, 0, with(post, "content-length: 3")...).data(1, 0, "a").data(1, flagEndStream, "b"), "reset 1" + protocol},
	{"8.1.1 content-length before trailers", client().headers(1, 0, with(post, "content-length: 3")...).data(1, 0, "a").headers(1, flagEndStream, "a: b"), "reset 1" + protocol},
	{"8.1.1 content-length of nothing", client().headers(1, flagEndStream, with(post, "content-length: 1")...), "reset 1" + protocol},
	{"8.1.1 content-length that is right, padded", client().headers(1, 0, with(post, "content-length: 3")...).data(1, flagPadded, "\x02abde").data(1, flagEndStream, "c"), ""},
	{"RFC 9218 PRIORITY_UPDATE", client().get(1).frame(framePriorityUpdate, 0, 0, u32(1)+"u=1, i").frame(framePriorityUpdate, 0, 0, u32(99)+"u=1"), ""},
	{"RFC 9218 PRIORITY_UPDATE on a stream", client().get(1).frame(framePriorityUpdate, 0, 1, u32(1)), "stop" + protocol},
	{"RFC 9218 PRIORITY_UPDATE for stream 0", client().get(1).frame(framePriorityUpdate, 0, 0, u32(0)), "stop" + protocol},
	{"RFC 9218 PRIORITY_UPDATE of 3 bytes", client().get(1).frame(framePriorityUpdate, 0, 0, "abc"), "stop" + size},
}

var clientRules = []rule{
	{"a push", server().frame(framePushPromise, 4, 1, u32(2)), "stop" + protocol},
	{"ENABLE_PUSH 1", server().settings(settingPush, 1), "stop" + protocol},
	{"HEADERS on an even stream", server().headers(2, 0, ":status: 200"), "stop" + protocol},
	{"HEADERS on an idle stream", server().headers(7, 0, ":status: 200"), "stop" + protocol},
	{"DATA before HEADERS", server().data(1, 0, "a"), "reset 1" + protocol},
	{"a response", server().headers(1, 0, ":status: 200").data(1, flagEndStream, "a"), ""},
	{"interim responses", server().headers(1, 0, ":status: 100").headers(1, 0, ":status: 103", "link: </a>").headers(1, flagEndStream, ":status: 204"), ""},
	{"an interim response that ends", server().headers(1, flagEndStream, ":status: 100"), "reset 1" + protocol},
	{"101", server().headers(1, 0, ":status: 101"), "reset 1" + protocol},
	{"no status", server().headers(1, 0, "server: x"), "reset 1" + protocol},
	{"a status of two digits", server().headers(1, 0, ":status: 20"), "reset 1" + protocol},
	{"a status of letters", server().headers(1, 0, ":status: 2x0"), "reset 1" + protocol},
	{"two", server().headers(1, 0, ":status: 200", ":status: 200"), "reset 1" + protocol},
	{"a pseudo-field of requests", server().headers(1, 0, ":status: 200", ":path: /"), "reset 1" + protocol},
	{"a field of connections", server().headers(1, 0, ":status: 200", "connection: close"), "reset 1" + protocol},
	{"content-length of something else", server().headers(1, 0, ":status: 200", "content-length: 2").data(1, flagEndStream, "a"), "reset 1" + protocol},
	{"content of 204", server().headers(1, 0, ":status: 204").data(1, flagEndStream, "a"), "reset 1" + protocol},
	{"content of a response to HEAD", server().headers(3, 0, ":status: 200", "content-length: 5").data(3, flagEndStream, "a"), "reset 3" + protocol},
	{"content-length of a response to HEAD", server().headers(3, flagEndStream, ":status: 200", "content-length: 5"), ""},
	{"content-length of 304", server().headers(1, flagEndStream, ":status: 304", "content-length: 5"), ""},
	{"DATA after the end", server().headers(1, flagEndStream, ":status: 200").data(1, 0, "a"), "stop" + closed},
	{"PRIORITY_UPDATE", server().frame(framePriorityUpdate, 0, 0, u32(1)+"u=1"), "stop" + protocol},
	{"HTTP/1.1 instead", newScript().raw("HTTP/1.1 505 HTTP Version Not Supported\r\n\r\n"), "stop" + protocol},
	{"HTTP/1.0 instead", newScript().raw("HTTP/1.0 400 Bad Request\r\n\r\n"), "stop" + protocol},
	{"a frame beyond the limit", server().headers(1, flagEndStream, ":status: 200", "a: "+strings.Repeat("b", 70<<10)), "stop" + size},
}

// continued adds a request whose block is in n CONTINUATION frames.
func continued(s *script, n int) *script {
	block := s.fields(with(get, "a: "+strings.Repeat("b", n))...)
	part := len(block) / (n + 1)
	s.frame(frameHeaders, flagEndStream, 1, block[:part])
	for range n - 1 {
		block = block[part:]
		s.frame(frameContinuation, 0, 1, block[:part])
	}
	return s.frame(frameContinuation, flagEndHeaders, 1, block[part:])
}

// verdict returns the reaction of a connection to its peer, in the form of rule.want.
func (x *run) verdict() string {
	var bad []string
	for _, f := range x.frames() {
		if rest, found := strings.CutPrefix(f, "GOAWAY "); found {
			_, code, _ := strings.Cut(rest, ": ")
			bad = append(bad, "stop "+code)
		} else if rest, found := strings.CutPrefix(f, "RST_STREAM "); found {
			bad = append(bad, "reset "+strings.Replace(rest, ":", "", 1))
		}
	}
	return strings.Join(bad, ", ")
}

func TestServerHoldsClientsToTheRules(t *testing.T) {
	for _, r := range serverRules {
		testRule(t, r, func() *run { return begin(t, Server, filled(Limits{})) })
	}
}

// A client has sent three requests: GET, HEAD, and one with content.
func TestClientHoldsServersToTheRules(t *testing.T) {
	for _, r := range clientRules {
		testRule(t, r, func() *run {
			x := begin(t, Client, filled(Limits{}))
			for i, part := range []Part{SendWhole, SendWhole, SendHead} {
				s := x.c.Open()
				x.request(s, part)
				x.held[s.id] = s
				if i == 1 {
					s.ExpectNoContent()
				}
			}
			x.frames()
			return x
		})
	}
}

func testRule(t *testing.T, r rule, start func() *run) {
	var events []string
	for _, step := range []int{1 << 20, 1, 7} {
		x := start()
		x.feed(r.in.b, step)
		if got := x.verdict(); got != r.want {
			t.Errorf("%s, %d bytes at a time: %q, want %q (events %q)", r.name, step, got, r.want, x.events)
		}
		if step == 1<<20 {
			events = x.events
		} else if !slices.Equal(events, x.events) {
			t.Errorf("%s, %d bytes at a time: events %q, whole %q", r.name, step, x.events, events)
		}
		if stopped := strings.HasPrefix(r.want, "stop"); stopped != (x.err != nil) || stopped != (x.c.Life() == LifeClosed) {
			t.Errorf("%s: life %d, error %v", r.name, x.c.Life(), x.err)
		}
		checkBooks(t, x.c)
		for _, s := range x.held {
			x.c.Release(s)
		}
		checkBooks(t, x.c)
		if x.c.held != 0 || x.c.active != 0 || x.c.table.n != 0 {
			t.Errorf("%s: after release %d held, %d active, %d in the table", r.name, x.c.held, x.c.active, x.c.table.n)
		}
	}
}

// The last frames on a stream that both sides have ended.
func TestFramesAfterBothSidesHaveEnded(t *testing.T) {
	for _, r := range []rule{
		{"DATA", client().get(1).data(1, flagEndStream, "a"), "stop" + closed},
		{"HEADERS", client().get(1).get(1), "stop" + closed},
		{"CONTINUATION", client().get(1).frame(frameContinuation, 4, 1, "a"), "stop" + protocol},
		{"others", client().get(1).window(1, 1).reset(1, Cancel).frame(framePriority, 0, 1, u32(3)+"a"), ""},
	} {
		x := begin(t, Server, filled(Limits{}))
		x.answer = func(ev Event) {
			if ev.Kind == Headers {
				x.respond(ev.Stream, []byte("body"))
				x.c.Release(ev.Stream)
			}
		}
		x.feed(r.in.b, 1<<20)
		if got := x.verdict(); got != r.want {
			t.Errorf("%s: %q, want %q", r.name, got, r.want)
		}
	}
}
