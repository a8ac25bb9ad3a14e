package protocols

import (
	"net/http"
	"testing"
)

func TestEnableHTTP2(t *testing.T) {
	s := new(http.Server)
	if !EnableHTTP2(s) {
		t.Fatal("net/http has no HTTP/2")
	}
	if p := s.Protocols; !p.HTTP1() || !p.HTTP2() || !p.UnencryptedHTTP2() {
		t.Errorf("got %v", p)
	}
	if !AllowStreams(s, 7) || s.HTTP2.MaxConcurrentStreams != 7 || AllowStreams(new(struct{ HTTP2 int }), 7) || AllowStreams(new(struct{ Other int }), 7) {
		t.Error("the number of streams is not set")
	}
	value := new(struct{ Protocols http.Protocols })
	if !EnableHTTP2(value) || !value.Protocols.UnencryptedHTTP2() {
		t.Errorf("got %v for a field that is no pointer", value.Protocols)
	}
	c := new(http.Transport)
	if !OnlyHTTP2(c) || c.Protocols.HTTP1() || !c.Protocols.HTTP2() || !c.Protocols.UnencryptedHTTP2() {
		t.Errorf("got %v for a client", c.Protocols)
	}
	if EnableHTTP2(new(struct{ Other int })) || EnableHTTP2(new(struct{ Protocols int })) {
		t.Error("a server without HTTP/2 is said to speak it")
	}
}
