package accesslog

import (
	"errors"
	"net/netip"
	"testing"
	"time"

	"github.com/valyala/fasthttp"
)

// TestEntriesAreEncodedAsTheyAre encodes entries and decodes them.
func TestEntriesAreEncodedAsTheyAre(t *testing.T) {
	at := time.Date(2031, 2, 3, 4, 5, 6, 789, time.UTC)
	for _, want := range []entry{
		{},
		{at: at, taken: 1<<40 + 7, client: netip.MustParseAddr("192.0.2.1"), protocol: protocol11, status: 599, bytes: 1<<50 + 3, lengths: [texts]uint16{1, MaxValue, 3, 4, 5, 6}},
		{at: at.Add(-1 << 62), client: netip.MustParseAddr("2001:db8::1"), protocol: protocol3, failed: true, bytes: -1},
		{at: at, client: netip.MustParseAddr("::ffff:192.0.2.1"), protocol: protocol2, status: -1},
		{at: at, client: netip.IPv6Unspecified()},
		{at: at, client: netip.IPv4Unspecified()},
	} {
		p := make([]byte, headSize)
		want.encode(p)
		var got entry
		if got.decode(p); got != want {
			t.Errorf("got %+v, want %+v", got, want)
		}
	}
}

// TestRecordIsUsedAgain has failures and a zone in a record, and then nothing.
func TestRecordIsUsedAgain(t *testing.T) {
	r := newRecord()
	r.client = netip.MustParseAddr("fe80::1%eth0")
	r.set(textMethod, []byte("GET"))
	r.finish(time.Second, fasthttp.SentResponse{StatusCode: 500, Err: errors.New("cut off")})
	if got := string(r.text[headSize:]); got != "GETeth0" || !r.failed || r.failure.err == nil {
		t.Errorf("the texts are %q, the failure is %v", got, r.failure)
	}
	r.reset()
	r.finish(0, fasthttp.SentResponse{})
	want := make([]byte, headSize)
	new(entry).encode(want)
	if string(r.text) != string(want) || r.failure != (failure{}) {
		t.Errorf("the record has % x", r.text)
	}
}
