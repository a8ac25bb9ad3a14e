package ws

// Phase is the state of the closing handshake of a connection (RFC 6455 section 7).
type Phase uint8

const (
	// Open means that neither side has sent a Close frame.
	Open Phase = iota
	// CloseSent means that this side has sent a Close frame and waits for that of the
	// peer. Messages are still received.
	CloseSent
	// CloseReceived means that the peer has sent a Close frame and waits for that of this
	// side. What it sends after that is ignored.
	CloseReceived
	// Failed means that the peer has made a fault. This side has yet to send a Close frame
	// with the code of the error, and receives nothing any more.
	Failed
	// Closed means that nothing is to be sent or received: the server closes the
	// connection below, the client waits a while for that.
	Closed
	phases
)

// move is what changes the phase of a connection.
type move uint8

const (
	sendsClose    move = iota // this side sends a Close frame
	receivesClose             // the peer has sent one
	fails                     // the peer has made a fault
	moves
)

// after is the phase after each move. Open, which no move leads to, marks moves that do
// not exist.
var after = [phases][moves]Phase{
	Open:          {sendsClose: CloseSent, receivesClose: CloseReceived, fails: Failed},
	CloseSent:     {receivesClose: Closed, fails: Closed},
	CloseReceived: {sendsClose: Closed},
	Failed:        {sendsClose: Closed},
	Closed:        {},
}

// Phase returns the state of the closing handshake.
func (c *Conn) Phase() Phase { return c.phase }

// may reports whether the connection has the move now.
func (c *Conn) may(m move) bool { return after[c.phase][m] != Open }

func (c *Conn) move(m move) {
	if !c.may(m) {
		panic("ws: a move that its phase does not permit")
	}
	c.phase = after[c.phase][m]
}
