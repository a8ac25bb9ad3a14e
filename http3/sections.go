package http3

import (
	"errors"
	"time"

	"github.com/quic-go/quic-go"

	"github.com/valyala/fasthttp/http3/internal/qpack"
	"github.com/valyala/fasthttp/http3/internal/wire"
	"github.com/valyala/fasthttp/internal/field"
)

// writeInserts writes the instructions of the encoder, in a goroutine of its own: no request waits for a
// peer that does not read them.
func (c *session) writeInserts(t *qpack.EncoderTable) {
	var b []byte
	if c.inserts == nil {
		q, err := c.openUni(c.q.Context())
		if err != nil {
			return
		}
		c.inserts, b = q, wire.AppendVarint(nil, wire.StreamEncoder)
	}
	for {
		from := len(b)
		if b = t.Instructions(b); len(b) == from {
			return
		}
		if _, err := c.inserts.Write(b); err != nil {
			return
		}
		b = b[:0]
	}
}

// serveEncoder reads the stream of the peer's encoder of QPACK.
func (c *session) serveEncoder(q *quic.ReceiveStream) *wire.Error {
	return each(q, func(p []byte) *wire.Error {
		c.mu.Lock()
		c.encodes = true
		err := c.decoder.Feed(p)
		c.wake()
		c.unacked = c.decoder.AppendIncrement(c.unacked)
		c.mu.Unlock()
		if err != nil {
			return &wire.Error{Code: wire.EncoderStreamError, What: err.Error()}
		}
		c.acknowledge()
		return nil
	})
}

// cancel tells the encoder of the peer that sections of a stream are not decoded (RFC 9204
// section 2.2.2.2). m is nil if nothing of it was read.
func (c *session) cancel(id quic.StreamID, m *message) {
	if c.max.table == 0 {
		return
	}
	c.mu.Lock()
	was := m != nil && m.cancelled
	if m != nil {
		m.cancelled = true
	}
	if !was && (c.encodes || len(c.unacked) < maxUnacked) {
		c.unacked = c.decoder.AppendCancel(c.unacked, uint64(id))
	}
	c.mu.Unlock()
	c.acknowledge()
}

// maxUnacked is how many bytes are kept for a peer that has not used its encoder yet.
const maxUnacked = 1024

// acknowledge writes unacked to the stream of the decoder. A peer that does not use its encoder
// need not read that stream.
func (c *session) acknowledge() {
	c.acking.Lock()
	defer c.acking.Unlock()
	c.mu.Lock()
	var b []byte
	if c.encodes {
		b, c.unacked = c.unacked, nil
	}
	c.mu.Unlock()
	if len(b) == 0 {
		return
	}
	// requests wait for the lock: a peer that gives no credit must not hold them up
	if err := send(c.acks, b, maxLinger); err != nil {
		c.fail(&wire.Error{Code: wire.ExcessiveLoad, What: "the stream of the decoder is not read"})
	}
}

// errTooLarge and errCancelled are errors of decode, which leave the connection open.
var (
	errTooLarge  = errors.New("http3: a field section is too large")
	errCancelled = errors.New("http3: a field section needs entries that do not arrive")
)

// decode decodes a field section of a stream. It waits for entries of the dynamic table that it
// needs, until the deadline for reading if there is one, or until wakeBlocked is called once gone of the
// stream is set. It ends the connection because of a fault.
func (c *session) decode(l *field.List, m *message, section []byte) error {
	c.mu.Lock()
	needs, err := c.decoder.Decode(l, section, c.max.Limits)
	for err == qpack.ErrBlocked && c.blocked.Load() < maxBlocked {
		if c.arrived == nil {
			c.arrived = make(chan struct{})
		}
		arrived := c.arrived
		c.blocked.Add(1)
		c.mu.Unlock()
		// whatever has changed before the stream was counted is seen here
		failed := m.waitEnded()
		if failed == nil && !c.await(arrived, m.until()) {
			failed = errCancelled
		}
		c.mu.Lock()
		if c.arrived == arrived {
			c.blocked.Add(-1)
		}
		if ended := m.waitEnded(); ended != nil {
			failed = ended
		}
		if failed != nil {
			m.undecoded = true
			c.mu.Unlock()
			return failed
		}
		needs, err = c.decoder.Decode(l, section, c.max.Limits)
	}
	acks := needs > 0 && (err == nil || err == qpack.ErrTooLarge) && !m.cancelled
	if acks {
		c.unacked = c.decoder.AppendAck(c.unacked, uint64(m.q.StreamID()), needs)
	}
	c.mu.Unlock()
	if acks {
		c.acknowledge()
	}
	switch err {
	case nil:
		return nil
	case qpack.ErrTooLarge:
		return errTooLarge
	}
	e := &wire.Error{Code: wire.DecompressionFailed, What: err.Error()}
	if err == qpack.ErrExcessive {
		e.Code = wire.ExcessiveLoad
	}
	c.fail(e)
	return e
}

// wakeBlocked wakes streams that wait for entries.
func (c *session) wakeBlocked() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.wake()
}

// wake wakes the streams that wait for entries. The peer may let others wait in their place before they run, so
// each counts itself again if it waits on. mu is held.
func (c *session) wake() {
	if c.arrived != nil {
		close(c.arrived)
		c.arrived = nil
		c.blocked.Store(0)
	}
}

// blockedTime is how long a section may wait for entries if there is no limit for heads.
const blockedTime = 30 * time.Second

// await waits until entries arrive. It returns false if the connection or the time ends before.
func (c *session) await(arrived chan struct{}, until time.Time) bool {
	wait := blockedTime
	if !until.IsZero() {
		wait = time.Until(until)
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-arrived:
		return true
	case <-timer.C:
	case <-c.q.Context().Done():
	}
	return false
}
