package sse

import (
	"bytes"
	"errors"
	"io"
	"time"
)

// ErrEventTooLarge is the error of a stream with an event above the limit.
var ErrEventTooLarge = errors.New("sse: the event is too large")

// DefaultMaxEventSize is the limit for the size of an event in bytes.
const DefaultMaxEventSize = 1 << 20

// maxRetry is the largest reconnection time that a server can set.
const maxRetry = 24 * time.Hour

// Decoder reads events from a stream in the format text/event-stream, as browsers do (WHATWG
// HTML, section "Interpreting an event stream"): events without a data field are not returned,
// nor is an event at the end without an empty line after it; comments, unknown fields, IDs with
// a NUL and reconnection times that are not digits are ignored. Only one goroutine may use it.
type Decoder struct {
	// MaxEventSize limits the size in bytes of an event, and of each line. 0 or less means
	// DefaultMaxEventSize.
	MaxEventSize int

	r       io.Reader
	buf     []byte
	line    int   // where the current line begins in buf
	scanned int   // how far buf has no end of that line
	begun   bool  // the first bytes, which may be a BOM, were checked
	skipLF  bool  // the last line has ended with a CR, which an LF may follow
	err     error // of r, or errEventTooLarge

	lastID string
	retry  time.Duration

	// the event being read
	name  []byte
	named string // the name of the last event that had one
	id    []byte
	hasID bool
	data  []byte // each line with an LF
	wait  time.Duration
}

// NewDecoder returns a Decoder that reads from r.
func NewDecoder(r io.Reader) *Decoder { return &Decoder{r: r} }

// LastEventID returns the ID in force after the last event.
func (d *Decoder) LastEventID() string { return d.lastID }

// Retry returns the reconnection time that the stream has set last, a day at most. ok reports
// whether it has set one.
func (d *Decoder) Retry() (after time.Duration, ok bool) { return max(d.retry-1, 0), d.retry > 0 }

// minSpace is the least free space in bytes with which the decoder reads.
const minSpace = 4 << 10

// Next returns the next event. Its Data is valid until the next call. The error is io.EOF at
// the end of the stream, ErrEventTooLarge after an event above the limit, or the error of the
// reader. The same error is returned from then on.
func (d *Decoder) Next() (Event, error) {
	d.data = d.data[:0]
	for {
		line, ok := d.nextLine()
		if d.err == ErrEventTooLarge {
			return Event{}, d.err
		}
		if !ok {
			if d.err != nil {
				return Event{}, d.err
			}
			d.fill()
			continue
		}
		if len(line) > 0 {
			d.field(line)
			continue
		}
		if e, ok := d.dispatch(); ok {
			return e, nil
		}
	}
}

func (d *Decoder) limit() int {
	if d.MaxEventSize > 0 {
		return d.MaxEventSize
	}
	return DefaultMaxEventSize
}

// fill reads more.
func (d *Decoder) fill() {
	if d.line > 0 {
		n := copy(d.buf, d.buf[d.line:])
		d.buf, d.scanned, d.line = d.buf[:n], d.scanned-d.line, 0
	}
	if cap(d.buf)-len(d.buf) < minSpace {
		grown := make([]byte, len(d.buf), 2*cap(d.buf)+minSpace)
		copy(grown, d.buf)
		d.buf = grown
	}
	for range maxEmptyReads {
		n, err := d.r.Read(d.buf[len(d.buf):cap(d.buf)])
		d.buf = d.buf[:len(d.buf)+n]
		if err != nil {
			d.err = err
		}
		if n > 0 || err != nil {
			return
		}
	}
	d.err = io.ErrNoProgress
}

// maxEmptyReads is how many times in a row a reader may return nothing.
const maxEmptyReads = 100

var bom = []byte("\xef\xbb\xbf")

// nextLine returns the next line without its end, if it is in the buffer.
func (d *Decoder) nextLine() (line []byte, ok bool) {
	if !d.begun {
		if len(d.buf) < len(bom) && bytes.HasPrefix(bom, d.buf) && d.err == nil {
			return nil, false
		}
		d.begun = true
		if bytes.HasPrefix(d.buf, bom) {
			d.line, d.scanned = len(bom), len(bom)
		}
	}
	if d.skipLF && d.line < len(d.buf) {
		d.skipLF = false
		if d.buf[d.line] == '\n' {
			d.line++
			d.scanned = max(d.scanned, d.line)
		}
	}
	end := d.scanned + lineEnd(d.buf[d.scanned:])
	if end-d.line+len(d.data) > d.limit() {
		d.err = ErrEventTooLarge
		return nil, false
	}
	if end == len(d.buf) {
		d.scanned = end
		return nil, false
	}
	line = d.buf[d.line:end]
	d.skipLF = d.buf[end] == '\r'
	d.line, d.scanned = end+1, end+1
	return line, true
}

// lineEnd returns the index of the first CR or LF, or the length of p.
func lineEnd(p []byte) int {
	if i := bytes.IndexByte(p, '\n'); i >= 0 {
		p = p[:i]
	}
	if i := bytes.IndexByte(p, '\r'); i >= 0 {
		p = p[:i]
	}
	return len(p)
}

// field processes a nonempty line.
func (d *Decoder) field(line []byte) {
	name, value, _ := bytes.Cut(line, colon)
	if len(value) > 0 && value[0] == ' ' {
		value = value[1:]
	}
	switch string(name) {
	case "data":
		d.data = append(append(d.data, value...), '\n')
	case "event":
		d.name = append(d.name[:0], value...)
	case "id":
		if bytes.IndexByte(value, 0) < 0 {
			d.id, d.hasID = append(d.id[:0], value...), true
		}
	case "retry":
		d.setRetry(value)
	}
}

var colon = []byte{':'}

func (d *Decoder) setRetry(digits []byte) {
	if len(digits) == 0 {
		return
	}
	after := time.Duration(0)
	for _, c := range digits {
		if c < '0' || c > '9' {
			return
		}
		after = min(10*after+time.Duration(c-'0')*time.Millisecond, maxRetry)
	}
	d.retry, d.wait = after+1, after
}

// dispatch ends the event being read, and returns it if it has data.
func (d *Decoder) dispatch() (e Event, ok bool) {
	if d.hasID {
		if string(d.id) != d.lastID {
			d.lastID = string(d.id)
		}
		d.hasID = false
	}
	name := d.name
	d.name = d.name[:0]
	e.Retry, d.wait = d.wait, 0
	if len(d.data) == 0 {
		return Event{}, false
	}
	if len(name) > 0 {
		if string(name) != d.named {
			d.named = string(name)
		}
		e.Name = d.named
	}
	e.ID, e.Data = d.lastID, d.data[:len(d.data)-1]
	return e, true
}
