package ws

// Prepared is a frame that many connections send. Servers all send the same bytes, which
// Frame returns; clients must mask it anew each time. It is immutable, so goroutines may
// share it.
type Prepared struct {
	frame []byte
	head  Head
	start int // where the payload begins in frame
}

// Prepare makes a frame with a copy of p. The key of h has no effect.
func Prepare(h Head, p []byte) *Prepared {
	h.Key, h.Masked = 0, false
	frame := AppendFrame(make([]byte, 0, MaxHead-maskSize+len(p)), h, p)
	return &Prepared{frame, h, len(frame) - len(p)}
}

// Frame returns the frame as servers send it. The caller must not change it.
func (p *Prepared) Frame() []byte { return p.frame }

// Head returns the head of the frame, and Payload its payload, which the caller must not
// change. A server that has passed them to Conn.Admit may send Frame without copying it.
func (p *Prepared) Head() Head { return p.head }

// Payload returns the payload of the frame, which the caller must not change.
func (p *Prepared) Payload() []byte { return p.frame[p.start:] }

// SendPrepared is like Send for a prepared frame. Only clients use key.
func (c *Conn) SendPrepared(dst []byte, p *Prepared, key uint32) ([]byte, error) {
	if c.role == Client {
		h := p.head
		h.Key = key
		return c.Send(dst, h, p.Payload())
	}
	if err := c.Admit(p.head, p.Payload()); err != nil {
		return dst, err
	}
	return append(dst, p.frame...), nil
}
