package servertest

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// H2Stream records the frames received on a stream.
type H2Stream struct {
	ID      uint32                // of the stream
	Heads   [][]hpack.HeaderField // also informational ones, and trailers
	Content []byte                // the kept part
	Length  int                   // of the content
	Ended   bool                  // cleanly
	Reset   *http2.ErrCode        // nil unless it was reset
}

// FieldOf returns the value of a field, or "".
func FieldOf(fields []hpack.HeaderField, name string) string {
	for _, f := range fields {
		if f.Name == name {
			return f.Value
		}
	}
	return ""
}

// final returns the number of the final head, if it was received.
func (s H2Stream) final() int {
	n := 0
	for n < len(s.Heads) && strings.HasPrefix(FieldOf(s.Heads[n], ":status"), "1") {
		n++
	}
	return n
}

func (s H2Stream) fieldsOf(n int) []hpack.HeaderField {
	if n >= len(s.Heads) {
		return nil
	}
	return s.Heads[n]
}

// Fields returns the fields of the request, or of the final response.
func (s H2Stream) Fields() []hpack.HeaderField { return s.fieldsOf(s.final()) }

// Trailers returns the fields after the content.
func (s H2Stream) Trailers() []hpack.HeaderField { return s.fieldsOf(s.final() + 1) }

// Field returns one of Fields.
func (s H2Stream) Field(name string) string { return FieldOf(s.Fields(), name) }

// Status returns the status of the response, or "".
func (s H2Stream) Status() string { return s.Field(":status") }

// Head returns the head with the number, or nil. Fields with the same name are on lines.
func (s H2Stream) Head(n int) map[string]string {
	head := make(map[string]string)
	for _, f := range s.fieldsOf(n) {
		if was, ok := head[f.Name]; ok {
			f.Value = was + "\n" + f.Value
		}
		head[f.Name] = f.Value
	}
	return head
}

// IsDone reports whether the stream has ended or was reset.
func (s H2Stream) IsDone() bool { return s.Ended || s.Reset != nil }

// ResetCode is the code with which the stream was reset, or "".
func (s H2Stream) ResetCode() string {
	if s.Reset == nil {
		return ""
	}
	return s.Reset.String()
}

// String returns the status and the content, or how the stream ended early.
func (s H2Stream) String() string {
	switch {
	case s.Reset != nil && s.Status() == "":
		return s.ResetCode()
	case s.Reset != nil:
		return s.Status() + " " + s.ResetCode()
	case !s.Ended:
		return s.Status() + " unfinished"
	}
	return s.Status() + " " + string(s.Content)
}

// H2Seen records the frames of the other side of a connection.
type H2Seen struct {
	Streams          map[uint32]*H2Stream       // by their ids
	Order            []uint32                   // the streams in the order of their first heads
	SettingsReceived map[http2.SettingID]uint32 // the settings of the other side
	Acks             int                        // the number of acknowledged SETTINGS
	Pings            int                        // PING frames received, and Pongs the number answered
	Pongs            int
	Mute             bool               // PING is not answered
	Away             *http2.GoAwayFrame // the last one
	Granted          map[uint32]int     // bytes that may be sent, beyond the initial windows
	Over             chan struct{}      // closed once Listen has read everything

	mu       sync.Mutex // for the goroutine of Listen
	role     H2Role
	kept     int             // the largest content kept for a stream
	brief    bool            // streams that have ended are forgotten, except for their outcomes
	outcomes map[string]int  // the number of streams with each outcome: a status, or a code
	goAways  []string        // their codes
	pongs    map[string]bool // the payloads of PING frames that were answered
	err      error           // why no more frames can be read
}

func newH2Seen(role H2Role) *H2Seen {
	return &H2Seen{
		Streams: make(map[uint32]*H2Stream), SettingsReceived: make(map[http2.SettingID]uint32), Granted: make(map[uint32]int), Over: make(chan struct{}),
		role: role, kept: math.MaxInt, outcomes: make(map[string]int), pongs: make(map[string]bool),
	}
}

// Stream returns the record of a stream.
func (s *H2Seen) Stream(id uint32) *H2Stream {
	if s.Streams[id] == nil {
		s.Streams[id] = &H2Stream{ID: id}
	}
	return s.Streams[id]
}

// note records a frame. The error is a fault of the other side.
func (s *H2Seen) note(frame http2.Frame) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch f := frame.(type) {
	case *http2.SettingsFrame:
		if f.IsAck() {
			s.Acks++
			return nil
		}
		s.SettingsReceived[0] = 0 // there may be no settings
		return f.ForeachSetting(func(one http2.Setting) error {
			s.SettingsReceived[one.ID] = one.Val
			return nil
		})
	case *http2.PingFrame:
		if f.IsAck() {
			s.Pongs++
			s.pongs[string(f.Data[:])] = true
		} else {
			s.Pings++
		}
	case *http2.WindowUpdateFrame:
		s.Granted[f.StreamID] += int(f.Increment)
	case *http2.GoAwayFrame:
		copied := *f
		s.Away = &copied
		s.goAways = append(s.goAways, f.ErrCode.String())
	case *http2.MetaHeadersFrame, *http2.DataFrame, *http2.RSTStreamFrame:
		return s.recordStream(frame)
	}
	return nil
}

// recordStream records a frame of a stream.
func (s *H2Seen) recordStream(frame http2.Frame) error {
	id := frame.Header().StreamID
	was := s.Streams[id]
	st := s.Stream(id)
	switch f := frame.(type) {
	case *http2.MetaHeadersFrame:
		if was == nil {
			if s.role == H2Server && (id%2 == 0 || len(s.Order) > 0 && id <= s.Order[len(s.Order)-1]) {
				return fmt.Errorf("stream %d begins after %v", id, s.Order)
			}
			s.Order = append(s.Order, id)
		}
		st.Heads = append(st.Heads, slices.Clone(f.Fields))
		st.Ended = st.Ended || f.StreamEnded()
	case *http2.DataFrame:
		if s.role == H2Server && (was == nil || was.Ended) {
			return fmt.Errorf("DATA on stream %d, which is not open", id)
		}
		st.Length += len(f.Data())
		st.Content = append(st.Content, f.Data()[:min(len(f.Data()), s.kept-len(st.Content))]...)
		st.Ended = st.Ended || f.StreamEnded()
	case *http2.RSTStreamFrame:
		if s.role == H2Server && was == nil {
			return fmt.Errorf("RST_STREAM of stream %d, which has not begun", id)
		}
		code := f.ErrCode
		st.Reset = &code
	}
	if !st.IsDone() {
		return nil
	}
	if st.Reset != nil {
		s.outcomes[st.ResetCode()]++
	} else {
		s.outcomes[st.Status()]++
	}
	if s.brief {
		delete(s.Streams, id)
	}
	return nil
}

// InitialWindow is the initial window of the other side for each stream.
func (s *H2Seen) InitialWindow() int {
	if n, ok := s.SettingsReceived[http2.SettingInitialWindowSize]; ok {
		return int(n)
	}
	return 65535
}

// Greeted reports whether the settings of the other side were received.
func (s *H2Seen) Greeted() bool { return len(s.SettingsReceived) > 0 }

// SetBrief makes s forget ended streams, except for their outcomes.
func (s *H2Seen) SetBrief() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.brief = true
}

// IsOver reports whether the other side has announced the end of the connection, or
// ended it.
func (s *H2Seen) IsOver() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err != nil || len(s.goAways) > 0
}

// Snapshot returns a copy of the record of a stream.
func (s *H2Seen) Snapshot(id uint32) H2Stream {
	s.mu.Lock()
	defer s.mu.Unlock()
	if st := s.Streams[id]; st != nil {
		return *st
	}
	return H2Stream{ID: id}
}

// IsAnswered reports whether a PING with the payload was answered.
func (s *H2Seen) IsAnswered(payload string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.pongs[payload]
}

// Count returns the number of streams with an outcome.
func (s *H2Seen) Count(outcome string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.outcomes[outcome]
}

// Verdict returns the GOAWAY codes so far.
func (s *H2Seen) Verdict() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.goAways) == 0 && s.err != nil {
		return "cut: " + s.err.Error()
	}
	return strings.Join(s.goAways, " ")
}

// Summary describes the received frames.
func (s *H2Seen) Summary() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var parts []string
	for _, outcome := range slices.Sorted(maps.Keys(s.outcomes)) {
		parts = append(parts, fmt.Sprintf("%d x %s", s.outcomes[outcome], outcome))
	}
	if len(s.goAways) > 0 {
		parts = append(parts, "GOAWAY "+strings.Join(s.goAways, " "))
	}
	if s.err != nil && !errors.Is(s.err, io.EOF) {
		parts = append(parts, s.err.Error())
	}
	return strings.Join(parts, ", ")
}
