package ws

// Send appends a frame with the payload p, or returns an error if it must not be sent now.
// The caller sets the key of h if the role is Client; h.Masked has no effect. A message is
// one frame with Fin, or begins with a frame without Fin and continues with Continuation
// frames. Send does not check that text is UTF-8. The caller may send control frames
// between the frames of a message.
func (c *Conn) Send(dst []byte, h Head, p []byte) ([]byte, error) {
	if err := c.Admit(h, p); err != nil {
		return dst, err
	}
	h.Masked = c.role == Client
	return AppendFrame(dst, h, p), nil
}

// SendClose is like Send for a Close frame with a code and a reason, see AppendClose.
func (c *Conn) SendClose(dst []byte, code Code, reason string, key uint32) ([]byte, error) {
	var room [MaxControl]byte
	p, err := AppendClose(room[:0], code, reason)
	if err != nil {
		return dst, err
	}
	return c.Send(dst, Head{Opcode: Close, Fin: true, Key: key}, p)
}

// Admit is like Send for a frame that the caller appends itself: if Admit returns no
// error, the frame counts as sent.
func (c *Conn) Admit(h Head, p []byte) error {
	switch {
	case c.phase == CloseSent || c.phase == Closed || c.phase == Failed && h.Opcode != Close:
		return ErrClosing
	case !h.Opcode.isKnown() || h.RSV1 && (!c.compress || h.Opcode == Continuation || h.Opcode.IsControl()):
		return ErrSendFrame
	case h.Opcode.IsControl():
		return c.admitControl(h, p)
	case (h.Opcode == Continuation) != (c.sending != Continuation):
		return ErrSendOrder
	case h.Fin:
		c.sending = Continuation
	case h.Opcode != Continuation:
		c.sending = h.Opcode
	}
	return nil
}

func (c *Conn) admitControl(h Head, p []byte) error {
	if !h.Fin || len(p) > MaxControl {
		return ErrSendFrame
	}
	if h.Opcode != Close {
		return nil
	}
	switch _, _, err := parseClose(p); err {
	case nil:
		c.move(sendsClose)
		return nil
	case ErrCloseReason:
		return ErrSendReason
	}
	return ErrSendCode
}
