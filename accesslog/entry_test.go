package accesslog

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/servertest"
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

// TestLargeResponsesHaveTheirSize has sizes at the limits of the types of numbers.
func TestLargeResponsesHaveTheirSize(t *testing.T) {
	for _, size := range []int64{0, math.MaxInt32, math.MaxInt32 + 1, math.MaxUint32, math.MaxUint32 + 1, math.MaxInt64} {
		var out bytes.Buffer
		l := New(Options{Writer: &out})
		ctx := new(fasthttp.RequestCtx)
		ctx.Init(new(fasthttp.Request), nil, nil)
		l.sent(ctx, fasthttp.SentResponse{StatusCode: 200, Bytes: size})
		servertest.Must(t, l.Close())
		if want := fmt.Sprintf(" 200 %d \"", size); !strings.Contains(out.String(), want) {
			t.Errorf("got %q, want %q", out.String(), want)
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
