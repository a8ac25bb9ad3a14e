package accesslog

import (
	"errors"
	"net/netip"
	"testing"
	"time"

	"github.com/valyala/fasthttp"
)

// TestEntriesKeepAddressesAndTimes has kinds of addresses, and times.
func TestEntriesKeepAddressesAndTimes(t *testing.T) {
	at := time.Date(2031, 2, 3, 4, 5, 6, 789, time.UTC)
	for _, want := range []struct {
		client netip.Addr
		at     time.Time
	}{
		{},
		{netip.MustParseAddr("192.0.2.1"), at},
		{netip.MustParseAddr("2001:db8::1"), at.Add(-1 << 62)},
		{netip.MustParseAddr("fe80::1%eth0"), at},
		{netip.MustParseAddr("::ffff:192.0.2.1"), at.Add(1)},
		{netip.IPv6Unspecified(), at},
		{netip.IPv4Unspecified(), at},
	} {
		r := newRecord()
		r.received, r.zone = want.at, want.client.Zone()
		r.setClient(want.client)
		r.finish(0, fasthttp.SentResponse{})
		if got := r.client(r.text); got != want.client || !r.at().Equal(want.at) {
			t.Errorf("got %v and %v, want %v and %v", got, r.at(), want.client, want.at)
		}
		text := "-"
		if want.client.IsValid() {
			text = want.client.String()
		}
		if got := string(appendAddr(nil, &r.entry, r.text)); got != text {
			t.Errorf("got %s, want %s", got, text)
		}
	}
}

// TestRecordIsUsedAgain has failures and a zone in a record, and then nothing.
func TestRecordIsUsedAgain(t *testing.T) {
	r := newRecord()
	r.zone = "eth0"
	r.set(textMethod, []byte("GET"))
	r.finish(time.Second, fasthttp.SentResponse{StatusCode: 500, Err: errors.New("cut off")})
	if got := string(r.text); got != "GETeth0" || r.kind&kindFailed == 0 || r.failure.err == nil {
		t.Errorf("the texts are %q, the failure is %v", got, r.failure)
	}
	r.reset()
	if r.entry != (entry{}) || r.failure != (failure{}) || r.zone != "" || len(r.text) > 0 {
		t.Errorf("the record has %+v", r)
	}
}
