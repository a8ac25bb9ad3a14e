package http1

// ClientConn is what a client knows of a connection that it speaks HTTP/1.x on:
// how far sending has come, and how far receiving. Each is one phase; the two are
// apart since a response may come before its request is sent to its end.
//
// Nothing but Advance changes a phase, by the table clientMoves. The zero value is
// not ready for use: Open makes it the state of a connection without a request.
//
// A ClientConn is used by one goroutine at a time.
type ClientConn struct {
	phases clientPhases
}

// clientPhases is a SendPhase, above a ReceivePhase of receiveBits. In the table, a
// move that is refused has the bit refused.
type clientPhases uint8

const (
	receiveBits              = 3
	refused     clientPhases = 1 << 7
)

func phasesOf(s SendPhase, r ReceivePhase) clientPhases {
	return clientPhases(s)<<receiveBits | clientPhases(r)
}

func (p clientPhases) sending() SendPhase { return SendPhase(p >> receiveBits) }

func (p clientPhases) receiving() ReceivePhase { return ReceivePhase(p & (1<<receiveBits - 1)) }

// SendPhase is how far a client has come with sending.
type SendPhase uint8

const (
	_            SendPhase = iota // what the table has for moves that are refused
	Unsent                        // nothing of the request was written
	Asking                        // the head was written; the content waits to be asked for (RFC 9110 section 10.1.1)
	Sending                       // the request is being written, and in a pipeline those behind it
	SendingLast                   // what is being written is the last request of the connection
	Sent                          // everything was written
	SendStopped                   // what is left stays unsent, since nobody wants it
	SendFailed                    // the connection has failed before everything was written
	SendTimedOut                  // the connection has not taken everything in time
	sendPhases
)

// ReceivePhase is how far a client has come with receiving.
type ReceivePhase uint8

const (
	_             ReceivePhase = iota // what the table has for moves that are refused
	NotReceiving                      // nobody reads a response
	ReceivingHead                     // the head of the final response is read, or waited for
	ReceivingBody                     // the head came, and the content has not ended
	Received                          // the response ended, or the last one of a pipeline
	Switched                          // the peer speaks another protocol from here on
	ReceiveFailed                     // there is no response, or no end of it
	receivePhases
)

// ClientEvent is what moves a ClientConn.
type ClientEvent uint8

const (
	SendsHead        ClientEvent = iota // the head goes out alone, and asks whether the content is wanted
	SendsRequest                        // all of the request goes out, or all that is left of it
	SendsLast                           // the last request of a pipeline goes out
	SendEnds                            // everything was written
	SendStops                           // the rest is not sent
	SendFails                           // the connection took no more
	SendTimesOut                        // the connection took no more in time
	AwaitsResponse                      // the response is read from now on
	HeadEnds                            // the head of the final response came
	ProtocolSwitches                    // the final response was the last of HTTP on the connection
	ResponseEnds                        // the response came to its end
	LastResponseEnds                    // a response in a pipeline came to its end, and none comes behind it
	ReceiveFails                        // the response cannot be read, or not to its end
	NextRequest                         // the connection is used for another request
	clientEvents
)

// clientMove says to which phases an event leads. A phase that is not there refuses
// the event.
type clientMove struct {
	sending   [sendPhases]SendPhase
	receiving [receivePhases]ReceivePhase
}

// What an event that concerns one direction does to the other.
var (
	keepsSending = [sendPhases]SendPhase{
		Unsent: Unsent, Asking: Asking, Sending: Sending, SendingLast: SendingLast, Sent: Sent,
		SendStopped: SendStopped, SendFailed: SendFailed, SendTimedOut: SendTimedOut,
	}
	keepsReceiving = [receivePhases]ReceivePhase{
		NotReceiving: NotReceiving, ReceivingHead: ReceivingHead, ReceivingBody: ReceivingBody, Received: Received,
		Switched: Switched, ReceiveFailed: ReceiveFailed,
	}
)

// clientMoves is all moves that there are.
var clientMoves = [clientEvents]clientMove{
	SendsHead: {
		sending:   [sendPhases]SendPhase{Unsent: Asking},
		receiving: [receivePhases]ReceivePhase{NotReceiving: NotReceiving},
	},
	SendsRequest: {
		sending:   [sendPhases]SendPhase{Unsent: Sending, Asking: Sending},
		receiving: [receivePhases]ReceivePhase{NotReceiving: NotReceiving, ReceivingHead: ReceivingHead},
	},
	SendsLast: {
		sending:   [sendPhases]SendPhase{Sending: SendingLast},
		receiving: [receivePhases]ReceivePhase{ReceivingHead: ReceivingHead},
	},
	SendEnds: {
		sending:   [sendPhases]SendPhase{Sending: Sent, SendingLast: Sent},
		receiving: keepsReceiving,
	},
	SendStops: {
		sending: [sendPhases]SendPhase{
			Unsent: SendStopped, Asking: SendStopped, Sending: SendStopped, SendingLast: SendStopped, Sent: Sent,
			SendStopped: SendStopped, SendFailed: SendFailed, SendTimedOut: SendTimedOut,
		},
		receiving: keepsReceiving,
	},
	SendFails: {
		sending:   [sendPhases]SendPhase{Asking: SendFailed, Sending: SendFailed, SendingLast: SendFailed, SendStopped: SendFailed},
		receiving: keepsReceiving,
	},
	SendTimesOut: {
		sending:   [sendPhases]SendPhase{Asking: SendTimedOut, Sending: SendTimedOut, SendingLast: SendTimedOut, SendStopped: SendTimedOut},
		receiving: keepsReceiving,
	},
	AwaitsResponse: {
		sending: [sendPhases]SendPhase{
			Asking: Asking, Sending: Sending, Sent: Sent, SendFailed: SendFailed,
		},
		receiving: [receivePhases]ReceivePhase{NotReceiving: ReceivingHead},
	},
	HeadEnds: {
		sending:   keepsSending,
		receiving: [receivePhases]ReceivePhase{ReceivingHead: ReceivingBody},
	},
	ProtocolSwitches: {
		sending:   keepsSending,
		receiving: [receivePhases]ReceivePhase{ReceivingBody: Switched},
	},
	ResponseEnds: {
		sending:   keepsSending,
		receiving: [receivePhases]ReceivePhase{ReceivingBody: Received},
	},
	LastResponseEnds: {
		sending:   keepsSending,
		receiving: [receivePhases]ReceivePhase{ReceivingHead: Received},
	},
	ReceiveFails: {
		sending: keepsSending,
		receiving: [receivePhases]ReceivePhase{
			NotReceiving: ReceiveFailed, ReceivingHead: ReceiveFailed, ReceivingBody: ReceiveFailed,
			Received: Received, Switched: Switched, ReceiveFailed: ReceiveFailed,
		},
	},
	NextRequest: {
		sending:   [sendPhases]SendPhase{Sent: Unsent},
		receiving: [receivePhases]ReceivePhase{Received: NotReceiving},
	},
}

// clientNext is clientMoves for both directions at once, so that an event costs one
// look at it.
var clientNext = func() (next [clientEvents][refused]clientPhases) {
	for e := range next {
		for p := range next[e] {
			now := clientPhases(p)
			s, r := now.sending(), now.receiving()
			next[e][p] = refused | phasesOf(s, ReceiveFailed)
			if s >= sendPhases || r >= receivePhases {
				continue
			}
			if sending, receiving := clientMoves[e].sending[s], clientMoves[e].receiving[r]; sending != 0 && receiving != 0 {
				next[e][p] = phasesOf(sending, receiving)
			}
		}
	}
	return next
}()

// Open makes c the state of a connection on which nothing was sent.
func (c *ClientConn) Open() { c.phases = phasesOf(Unsent, NotReceiving) }

// Advance makes the moves of an event and reports whether they are in the table.
// If they are not, who uses the connection has lost track of it: the state is that
// of a failure then, so that no other request goes out on the connection.
func (c *ClientConn) Advance(e ClientEvent) bool {
	next := clientNext[e][c.phases&^refused]
	c.phases = next &^ refused
	return next < refused
}

// Sending returns how far sending has come.
func (c *ClientConn) Sending() SendPhase { return c.phases.sending() }

// Receiving returns how far receiving has come.
func (c *ClientConn) Receiving() ReceivePhase { return c.phases.receiving() }

// MaySend reports whether another request may be written behind those of a
// pipeline.
func (c *ClientConn) MaySend() bool { return c.Sending() == Sending && c.Receiving() < Received }

// Draining reports whether only what the server has sent by now is of interest,
// since it does not take the rest of what it was to get.
func (c *ClientConn) Draining() bool { return c.Sending() == SendFailed || c.Sending() == SendTimedOut }

// Reusable reports whether request and response came to their end, so that the
// connection can be used for others, as far as the two have left it open.
func (c *ClientConn) Reusable() bool { return c.phases == phasesOf(Sent, Received) }
