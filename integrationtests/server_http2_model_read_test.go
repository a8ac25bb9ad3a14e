package integrationtests

import (
	"bytes"
	"fmt"
	"strconv"

	"golang.org/x/net/http2"
)

// read reads all frames.
func (c *modelClient) read() {
	defer close(c.readerDone)
	for {
		f, err := c.fr.ReadFrame()
		c.mu.Lock()
		if err != nil {
			c.err = err
			c.mu.Unlock()
			return
		}
		if problem := c.receive(f); problem != nil {
			c.fail("%v", problem)
		}
		c.mu.Unlock()
		select {
		case c.changed <- struct{}{}:
		default:
		}
	}
}

// receive processes a frame. The caller holds mu.
func (c *modelClient) receive(f http2.Frame) error {
	switch f := f.(type) {
	case *http2.SettingsFrame:
		return c.receiveSettings(f)
	case *http2.WindowUpdateFrame:
		if f.StreamID == 0 {
			c.sendWindow += int64(f.Increment)
		} else if s := c.open[f.StreamID]; s != nil {
			s.sendWindow += int64(f.Increment)
		}
		if c.sendWindow > c.most {
			return fmt.Errorf("the window of the connection is %d", c.sendWindow)
		}
	case *http2.PingFrame:
		if !f.IsAck() || c.pings == 0 {
			return fmt.Errorf("%v", f)
		}
		c.pings--
	case *http2.GoAwayFrame:
		c.goAway = f.ErrCode.String()
	case *http2.RSTStreamFrame:
		return c.receiveReset(f)
	case *http2.MetaHeadersFrame:
		return c.receiveHead(f)
	case *http2.DataFrame:
		return c.receiveData(f)
	default:
		return fmt.Errorf("%v", f)
	}
	return nil
}

func (c *modelClient) receiveSettings(f *http2.SettingsFrame) error {
	if f.IsAck() {
		if len(c.acks) == 0 {
			return fmt.Errorf("an acknowledgement too many")
		}
		change := c.acks[0] - c.firstRecv
		c.firstRecv = c.acks[0]
		c.acks = c.acks[1:]
		for _, s := range c.open {
			s.recvWindow += change
		}
		return nil
	}
	if v, ok := f.Value(http2.SettingInitialWindowSize); ok {
		for _, s := range c.open {
			s.sendWindow += int64(v) - c.firstSend
		}
		c.firstSend = int64(v)
	}
	return c.fr.WriteSettingsAck()
}

// stream returns the stream of a frame, or nil if it has ended for the client.
func (c *modelClient) stream(f http2.Frame) (*modelStream, error) {
	id := f.Header().StreamID
	s := c.open[id]
	if s == nil && !c.over[id] {
		return nil, fmt.Errorf("%v for a stream that is not open", f)
	}
	return s, nil
}

func (c *modelClient) receiveReset(f *http2.RSTStreamFrame) error {
	s := c.open[f.StreamID]
	code := f.ErrCode.String()
	switch {
	case s == nil && (c.over[f.StreamID] || code == "NO_ERROR"):
		// it has crossed the client's reset; or the response was sent without all of the
		// request
		return nil
	case s == nil || s.breaks != code:
		return fmt.Errorf("%v of %v", f, s)
	}
	if s.kind == "panics" {
		c.waste++
	}
	c.close(s, broken)
	return nil
}

// close ends a stream.
func (c *modelClient) close(s *modelStream, how modelOutcome) {
	delete(c.open, s.id)
	if how != wholeAnswer || !s.hasEnded {
		c.over[s.id] = true
	}
	c.r.outcomes[how].Add(1)
}

func (c *modelClient) receiveHead(f *http2.MetaHeadersFrame) error {
	s, err := c.stream(f)
	if s == nil {
		return err
	}
	status := f.PseudoValue("status")
	switch {
	case !s.head && status == "103" && s.kind == "hints" && !f.StreamEnded():
		return nil
	case !s.head:
		s.head = true
		if err := s.checkHead(f, status); err != nil {
			return err
		}
	case s.kind != "trailers" || !f.StreamEnded() || s.trailers:
		return fmt.Errorf("stream %d, %s: trailers %v", s.id, s.kind, f.Fields)
	default:
		s.trailers = true
		if len(f.Fields) != 1 || f.Fields[0].Name != "x-end" || f.Fields[0].Value != s.name {
			return fmt.Errorf("stream %d: the trailers %v", s.id, f.Fields)
		}
	}
	if f.StreamEnded() {
		return c.end(s)
	}
	return nil
}

func (s *modelStream) checkHead(f *http2.MetaHeadersFrame, status string) error {
	if err := checkResponseFields(f.Fields, false); err != nil || status != "200" {
		return fmt.Errorf("stream %d, %s: %w: %v", s.id, s.kind, err, f.Fields)
	}
	for _, field := range f.RegularFields() {
		switch field.Name {
		case "x-name":
			if field.Value != s.name {
				return fmt.Errorf("stream %d: the response to %s", s.id, field.Value)
			}
		case "content-length":
			if field.Value != strconv.Itoa(len(s.want)) && s.want != nil {
				return fmt.Errorf("stream %d, %s: content-length %s, want %d", s.id, s.kind, field.Value, len(s.want))
			}
		}
	}
	return nil
}

func (c *modelClient) receiveData(f *http2.DataFrame) error {
	n := int64(f.Length)
	c.recvWindow -= n
	c.toReturn += n
	if c.recvWindow < 0 {
		return fmt.Errorf("%d bytes more than the window of the connection", -c.recvWindow)
	}
	s, err := c.stream(f)
	if s == nil {
		return err
	}
	s.recvWindow -= n
	s.toReturn += n
	// the window may have shrunk below the bytes sent before the server knew
	if s.recvWindow < 0 && len(c.acks) == 0 && n > 0 {
		return fmt.Errorf("stream %d: %d bytes more than its window", s.id, -s.recvWindow)
	}
	if !s.head || !bytes.HasPrefix(s.want[s.got:], f.Data()) {
		return fmt.Errorf("stream %d, %s: wrong content at %d of %d", s.id, s.kind, s.got, len(s.want))
	}
	s.got += len(f.Data())
	c.r.bytes.Add(int64(len(f.Data())))
	if f.StreamEnded() {
		return c.end(s)
	}
	return nil
}

// end ends a stream that the server has ended.
func (c *modelClient) end(s *modelStream) error {
	switch {
	case s.got != len(s.want):
		return fmt.Errorf("stream %d, %s: %d bytes, want %d", s.id, s.kind, s.got, len(s.want))
	case s.breaks != "":
		return fmt.Errorf("stream %d, %s: it is answered", s.id, s.kind)
	case s.kind == "trailers" && !s.trailers:
		return fmt.Errorf("stream %d: no trailers", s.id)
	case c.served.add(s.name, 0) != 1:
		return fmt.Errorf("stream %d was not served", s.id)
	}
	c.close(s, wholeAnswer)
	return nil
}
