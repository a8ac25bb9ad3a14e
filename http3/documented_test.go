package http3

import (
	"bytes"
	"fmt"
	"os"
	"testing"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/http3/internal/altsvc"
	"github.com/valyala/fasthttp/http3/internal/qpack"
	"github.com/valyala/fasthttp/http3/internal/wire"
	"github.com/valyala/fasthttp/internal/field"
	"github.com/valyala/fasthttp/internal/hpack"
	"github.com/valyala/fasthttp/internal/servertest"
)

type size = servertest.Size

// TestDocumentedLimits compares the limits in docs/security.md with the code.
func TestDocumentedLimits(t *testing.T) {
	s := &Server{Server: &fasthttp.Server{Handler: func(*fasthttp.RequestCtx) {}}}
	servertest.Must(t, s.prepare())
	aborted := fmt.Sprintf("malformed requests, and requests that are reset within %d ms", s.quick.Milliseconds())
	servertest.CheckLimits(t, "../docs/security.md", "Limit of an HTTP/3 connection", map[string]any{
		"requests at once": s.limits.Streams,
		"a field section, with 32 bytes for each field":                                size(s.limits.Section),
		"fields of a section without pseudo-fields":                                    s.limits.Fields,
		"the dynamic table of QPACK":                                                   size(s.limits.Table),
		"requests that wait for entries of the table":                                  maxBlocked,
		"time for these entries":                                                       blockedTime,
		"the dynamic table for sent fields, which the peer must allow":                 orNone(s.limits.Encoder),
		"sent sections that use it and were not acknowledged":                          sectionsInUse(t),
		"frames of a request without content, beyond the number of those with content": idleFrames(t),
		"a frame of the control stream":                                                size(controlFrame(t)),
		"settings":                                                                     settingsOfAFrame(t),
		"unidirectional streams of the client":                                         int(s.quicConfig().MaxIncomingUniStreams),
		"the streams of the server, which the client must allow":                       s.openTime,
		"time without a request":                                                       s.idle,
		"the end of the connection by the client, after GOAWAY and the last response":  s.grace,
		aborted:                s.wasted,
		"the same in a second": s.wastedRate,
	})
	servertest.CheckLimits(t, "../docs/security.md", "Limit of an HTTP/3 client", map[string]any{
		"connections of the same kind":                DefaultMaxConnsPerHost,
		"time a connection without requests is kept":  fasthttp.DefaultMaxIdleConnDuration,
		"time for a connection, with its handshake":   DefaultDialTimeout,
		"origins whose Alt-Svc is kept":               DefaultMaxOrigins,
		"time for which Alt-Svc is used":              fmt.Sprintf("%.0f days", DefaultMaxAge.Hours()/24),
		"wait for a connection to an alternative":     DefaultConnectTime,
		"time for which one is avoided that has none": DefaultAvoidTime,
		"a value of Alt-Svc":                          size(altsvc.MaxSize),
		"services of a value":                         altsvc.MaxServices,
	})
}

// TestDocumentedNumberOfConnections checks a figure in a sentence of docs/security.md.
func TestDocumentedNumberOfConnections(t *testing.T) {
	document, err := os.ReadFile("../docs/security.md")
	servertest.Must(t, err)
	if want := fmt.Sprintf("With %d connections or more, new clients must prove", verifyFrom); !bytes.Contains(document, []byte(want)) {
		t.Errorf("docs/security.md does not have: %s", want)
	}
}

// orNone is a size of a table, or nil if there is none.
func orNone(n uint32) any {
	if n == 0 {
		return nil
	}
	return size(n)
}

// largest returns the largest number that passes a check.
func largest(t *testing.T, passes func(n int) bool) int {
	t.Helper()
	for n := range 10_000 {
		if !passes(n + 1) {
			return n
		}
	}
	t.Error("there is no limit")
	return 0
}

// idleFrames returns how many frames without content a request may have.
func idleFrames(t *testing.T) int {
	return largest(t, func(n int) bool {
		var r wire.Reader
		r.Init(wire.Request, 100)
		head := wire.AppendFrame(nil, wire.TypeHeaders, 0)
		if _, _, ok, _, fault := r.Next(head); !ok || fault != nil {
			t.Fatal(fault)
		}
		_, _, _, _, fault := r.Next(bytes.Repeat(wire.AppendFrame(nil, wire.TypeData, 0), n))
		return fault == nil
	})
}

// controlFrame returns the size of the largest frame of a control stream.
func controlFrame(t *testing.T) int {
	return largest(t, func(n int) bool {
		var r wire.Reader
		r.Init(wire.ControlOfClient, 100)
		_, _, _, _, fault := r.Next(wire.AppendFrame(nil, wire.TypeSettings, n))
		return fault == nil
	})
}

// settingsOfAFrame returns how many settings a frame may have.
func settingsOfAFrame(t *testing.T) int {
	return largest(t, func(n int) bool {
		var p []byte
		for i := range n {
			p = append(wire.AppendVarint(p, uint64(100+i)), 0)
		}
		return new(wire.Settings).Parse(p) == nil
	})
}

// sectionsInUse returns how many unacknowledged sections may refer to an entry of a table.
func sectionsInUse(t *testing.T) int {
	table := qpack.NewEncoderTable(4096, 4096)
	uses := func(stream int) bool {
		b, s := table.Begin(nil, uint64(stream))
		b = s.Encoder.AppendField(b, field.Unknown, []byte("x-same"), []byte("a value that is in the table"), hpack.Index)
		section, _ := s.End(b)
		return section[0] != 0
	}
	// a field is inserted when it is sent for the second time
	for i := range 2 {
		uses(i)
	}
	table.Instructions(nil)
	inserted := []byte{1}
	servertest.Must(t, new(qpack.PeerDecoder).Feed(inserted, table))
	return largest(t, uses)
}
