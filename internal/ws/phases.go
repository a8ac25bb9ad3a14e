package ws

// Phase is the progress of the closing handshake of a connection (RFC 6455 section 7).
type Phase uint8

const (
	// Open means that neither side has sent a Close frame.
	Open Phase = iota
	// CloseSent means that this side has sent a Close frame and waits for the peer's Close
	// frame. It still receives messages.
	CloseSent
	// CloseReceived means that the peer has sent a Close frame and waits for the Close
	// frame of this side. This side ignores further bytes from the peer.
	CloseReceived
	// Failed means that the peer has caused a fault. This side still has to send a Close
	// frame with the code of the error, and no longer receives anything.
	Failed
	// Closed means that there is nothing left to send or receive. The server closes the
	// underlying connection; the client waits a while for the server to close it.
	Closed
	phases
)

// move is an action that changes the phase of a connection.
type move uint8

const (
	sendsClose    move = iota // this side sends a Close frame
	receivesClose             // the peer has sent one
	fails                     // the peer has made a fault
	moves
)

// after is the phase after each move. No move leads to Open, which marks a move that the
// phase does not permit.
var after = [phases][moves]Phase{
	Open:          {sendsClose: CloseSent, receivesClose: CloseReceived, fails: Failed},
	CloseSent:     {receivesClose: Closed, fails: Closed},
	CloseReceived: {sendsClose: Closed},
	Failed:        {sendsClose: Closed},
	Closed:        {},
}

// Phase returns the current phase of the closing handshake.
func (c *Conn) Phase() Phase { return c.phase }

// may reports whether the current phase permits the move.
func (c *Conn) may(m move) bool { return after[c.phase][m] != Open }

func (c *Conn) move(m move) {
	if !c.may(m) {
		panic("ws: a move that its phase does not permit")
	}
	c.phase = after[c.phase][m]
}
