package http1

// ClientConn is the state of a client's HTTP/1.x connection: the progress of sending and
// the progress of receiving. Each is one phase. They are separate since a response may
// arrive before its request is sent completely.
//
// Only Advance changes a phase, by the table clientMoves. The zero value is not ready for
// use: Open makes it the state of a connection without a request.
//
// A ClientConn must not be used by several goroutines at once.
type ClientConn struct {
	phases clientPhases
}

// clientPhases is a SendPhase, above the receiveBits of a ReceivePhase. In the table, a
// refused move has the bit refused.
type clientPhases uint8

const (
	receiveBits              = 3
	refused     clientPhases = 1 << 7
)

func phasesOf(s SendPhase, r ReceivePhase) clientPhases {
	return clientPhases(s)<<receiveBits | clientPhases(r)
}

// SendPhase is the progress of sending.
type SendPhase uint8

const (
	_            SendPhase = iota // entry of the table for refused moves
	Unsent                        // nothing of the request was written
	Asking                        // the head was written; the content waits until the server asks for it (RFC 9110 section 10.1.1)
	Sending                       // the request is being written, and in a pipeline the requests after it
	SendingLast                   // the last request of the connection is being written
	Sent                          // everything was written
	SendStopped                   // the rest stays unsent, since it is not needed
	SendFailed                    // the connection has failed before everything was written
	SendTimedOut                  // the connection has not taken everything in time
	sendPhases
)

// ReceivePhase is the progress of receiving.
type ReceivePhase uint8

const (
	_             ReceivePhase = iota // entry of the table for refused moves
	NotReceiving                      // no response is being read
	ReceivingHead                     // the head of the final response is being read, or waited for
	ReceivingBody                     // the head has arrived, and the content has not ended
	Received                          // the response ended, or the last one of a pipeline
	Switched                          // the peer speaks another protocol from here on
	ReceiveFailed                     // there is no response, or no complete one
	receivePhases
)

// ClientEvent is an event that changes the phases of a ClientConn.
type ClientEvent uint8

const (
	SendsHead        ClientEvent = iota // the head is sent alone, and asks whether the content is wanted
	SendsRequest                        // all of the request is sent, or all the rest of it
	SendsLast                           // the last request of a pipeline is sent
	SendEnds                            // everything was written
	SendStops                           // the rest is not sent
	SendFails                           // the connection took no more
	SendTimesOut                        // the connection took no more in time
	AwaitsResponse                      // reading the response begins
	HeadEnds                            // the head of the final response has arrived
	ProtocolSwitches                    // the final response was the last HTTP message on the connection
	ResponseEnds                        // the response has ended
	LastResponseEnds                    // a response in a pipeline has ended, and none follows
	ReceiveFails                        // the response cannot be read, or not completely
	NextRequest                         // both messages are complete, and the connection is used for others
	clientEvents
)

// clientMove holds the phases to which an event leads. A phase missing in it refuses
// the event.
type clientMove struct {
	sending   [sendPhases]SendPhase
	receiving [receivePhases]ReceivePhase
}

// The effect of an event that concerns one direction on the other direction.
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

// clientMoves holds all moves.
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
		receiving: [receivePhases]ReceivePhase{ReceivingBody: Received, Switched: Switched},
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

// clientNext is clientMoves for both directions at once, so that an event costs one lookup.
var clientNext = func() (next [clientEvents][refused]clientPhases) {
	for e := range next {
		for p := range next[e] {
			now := ClientConn{clientPhases(p)}
			s, r := now.Sending(), now.Receiving()
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

// Advance makes the moves of an event and reports whether they are in the table. If they
// are not, the caller has lost track of the connection: the state is then the one of a
// failure, so that no other request is sent on the connection.
func (c *ClientConn) Advance(e ClientEvent) bool {
	next := clientNext[e][c.phases&^refused]
	c.phases = next &^ refused
	return next < refused
}

// Sending returns the phase of sending.
func (c *ClientConn) Sending() SendPhase { return SendPhase(c.phases >> receiveBits) }

// Receiving returns the phase of receiving.
func (c *ClientConn) Receiving() ReceivePhase {
	return ReceivePhase(c.phases & (1<<receiveBits - 1))
}

// MaySend reports whether another request may be pipelined after those already sent.
func (c *ClientConn) MaySend() bool { return c.Sending() == Sending && c.Receiving() < Received }

// Draining reports whether only bytes that the server has already sent are of interest,
// since it does not accept the rest of the requests.
func (c *ClientConn) Draining() bool { return c.Sending() == SendFailed || c.Sending() == SendTimedOut }
