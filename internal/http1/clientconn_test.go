package http1

import (
	"slices"
	"strings"
	"testing"
)

var (
	sendNames = [sendPhases]string{
		Unsent: "Unsent", Asking: "Asking", Sending: "Sending", SendingLast: "SendingLast", Sent: "Sent",
		SendStopped: "SendStopped", SendFailed: "SendFailed", SendTimedOut: "SendTimedOut",
	}
	receiveNames = [receivePhases]string{
		NotReceiving: "NotReceiving", ReceivingHead: "ReceivingHead", ReceivingBody: "ReceivingBody",
		Received: "Received", Switched: "Switched", ReceiveFailed: "ReceiveFailed",
	}
	eventNames = [clientEvents]string{
		"SendsHead", "SendsRequest", "SendsLast", "SendEnds", "SendStops", "SendFails", "SendTimesOut", "AwaitsResponse",
		"HeadEnds", "ProtocolSwitches", "ResponseEnds", "LastResponseEnds", "ReceiveFails", "NextRequest",
	}
)

// wantMoves has the moves of each event in both directions, as "from>to". "*" means any
// phase, which stays.
var wantMoves = map[string][2]string{
	"SendsHead":    {"Unsent>Asking", "NotReceiving>NotReceiving"},
	"SendsRequest": {"Unsent>Sending Asking>Sending", "NotReceiving>NotReceiving ReceivingHead>ReceivingHead"},
	"SendsLast":    {"Sending>SendingLast", "ReceivingHead>ReceivingHead"},
	"SendEnds":     {"Sending>Sent SendingLast>Sent", "*"},
	"SendStops": {"Unsent>SendStopped Asking>SendStopped Sending>SendStopped SendingLast>SendStopped Sent>Sent " +
		"SendStopped>SendStopped SendFailed>SendFailed SendTimedOut>SendTimedOut", "*"},
	"SendFails":        {"Asking>SendFailed Sending>SendFailed SendingLast>SendFailed SendStopped>SendFailed", "*"},
	"SendTimesOut":     {"Asking>SendTimedOut Sending>SendTimedOut SendingLast>SendTimedOut SendStopped>SendTimedOut", "*"},
	"AwaitsResponse":   {"Asking>Asking Sending>Sending Sent>Sent SendFailed>SendFailed", "NotReceiving>ReceivingHead"},
	"HeadEnds":         {"*", "ReceivingHead>ReceivingBody"},
	"ProtocolSwitches": {"*", "ReceivingBody>Switched"},
	"ResponseEnds":     {"*", "ReceivingBody>Received Switched>Switched"},
	"LastResponseEnds": {"*", "ReceivingHead>Received"},
	"ReceiveFails": {"*", "NotReceiving>ReceiveFailed ReceivingHead>ReceiveFailed ReceivingBody>ReceiveFailed " +
		"Received>Received Switched>Switched ReceiveFailed>ReceiveFailed"},
	"NextRequest": {"Sent>Unsent", "Received>NotReceiving"},
}

// wantMove returns the target of a move, or "" if it is refused.
func wantMove(moves, from string) string {
	if moves == "*" {
		return from
	}
	for move := range strings.FieldsSeq(moves) {
		if to, ok := strings.CutPrefix(move, from+">"); ok {
			return to
		}
	}
	return ""
}

// isComplete reports whether request and response are complete.
func isComplete(c ClientConn) bool { return c == ClientConn{phasesOf(Sent, Received)} }

func TestClientConnMakesTheMovesOfItsTableAndNoOthers(t *testing.T) {
	for e, event := range eventNames {
		want, ok := wantMoves[event]
		if !ok {
			t.Fatalf("no moves for %s", event)
		}
		for s := Unsent; s < sendPhases; s++ {
			for r := NotReceiving; r < receivePhases; r++ {
				c := ClientConn{phasesOf(s, r)}
				made := c.Advance(ClientEvent(e))
				sending, receiving := wantMove(want[0], sendNames[s]), wantMove(want[1], receiveNames[r])
				legal := sending != "" && receiving != ""
				if !legal {
					sending, receiving = sendNames[s], "ReceiveFailed"
				}
				if made != legal || sendNames[c.Sending()] != sending || receiveNames[c.Receiving()] != receiving {
					t.Errorf("%s in %s, %s: %v, to %s, %s; want %v, %s, %s", event, sendNames[s], receiveNames[r],
						made, sendNames[c.Sending()], receiveNames[c.Receiving()], legal, sending, receiving)
				}
			}
		}
	}
}

// A connection can reach every phase. It is reused only if it has sent and received
// complete messages.
func TestClientConnReachesEveryPhase(t *testing.T) {
	var first ClientConn
	first.Open()
	seen := []ClientConn{first}
	for i := 0; i < len(seen); i++ {
		for e := range clientEvents {
			next := seen[i]
			if !next.Advance(e) {
				continue
			}
			if e == NextRequest && !isComplete(seen[i]) {
				t.Errorf("%s, %s is used again", sendNames[seen[i].Sending()], receiveNames[seen[i].Receiving()])
			}
			if !slices.Contains(seen, next) {
				seen = append(seen, next)
			}
		}
	}
	for s := Unsent; s < sendPhases; s++ {
		if !slices.ContainsFunc(seen, func(c ClientConn) bool { return c.Sending() == s }) {
			t.Errorf("nothing leads to %s", sendNames[s])
		}
	}
	for r := NotReceiving; r < receivePhases; r++ {
		if !slices.ContainsFunc(seen, func(c ClientConn) bool { return c.Receiving() == r }) {
			t.Errorf("nothing leads to %s", receiveNames[r])
		}
	}
}

func TestClientConnRefusesAllThatFollowsALostTrack(t *testing.T) {
	var c ClientConn
	if c.Advance(NextRequest) {
		t.Error("the zero value takes requests")
	}
	c.Open()
	if c.Advance(ResponseEnds) || c.Advance(NextRequest) || c.MaySend() || isComplete(c) {
		t.Error("a connection goes on after an unsolicited response")
	}
	for _, e := range []ClientEvent{SendsRequest, AwaitsResponse, HeadEnds, ResponseEnds, NextRequest} {
		if c.Advance(e) {
			t.Errorf("%s goes through", eventNames[e])
		}
	}
}

func TestClientConnOfAnOrderlyExchange(t *testing.T) {
	for name, events := range map[string][]ClientEvent{
		"plain":           {SendsRequest, SendEnds, AwaitsResponse, HeadEnds, ResponseEnds},
		"early response":  {SendsRequest, AwaitsResponse, HeadEnds, SendEnds, ResponseEnds},
		"asked for":       {SendsHead, AwaitsResponse, SendsRequest, SendEnds, HeadEnds, ResponseEnds},
		"sent at the end": {SendsRequest, AwaitsResponse, HeadEnds, ResponseEnds, SendEnds},
	} {
		var c ClientConn
		c.Open()
		for range 2 {
			for _, e := range events {
				if isComplete(c) || !c.Advance(e) {
					t.Fatalf("%s: %s in %s, %s", name, eventNames[e], sendNames[c.Sending()], receiveNames[c.Receiving()])
				}
			}
			if !isComplete(c) || !c.Advance(NextRequest) {
				t.Errorf("%s: %s, %s cannot be used again", name, sendNames[c.Sending()], receiveNames[c.Receiving()])
			}
		}
	}
}
