package ws

import (
	"errors"

	"github.com/valyala/fasthttp/internal/ascii"
)

// ErrExtensions reports a malformed Sec-WebSocket-Extensions field. The handshake fails
// (RFC 6455 section 9.1).
var ErrExtensions = errors.New(prefix + "malformed Sec-WebSocket-Extensions")

// ErrAnswer reports that the server has accepted something that the client has not
// offered.
var ErrAnswer = errors.New(prefix + "the server has chosen an extension that was not offered")

// Values of a window size in a Deflate.
const (
	NoBits  = 0  // the parameter is absent
	AnyBits = 1  // client_max_window_bits has no value
	MinBits = 8  // a window of 256 bytes
	MaxBits = 15 // a window of 32 KiB, the default without the parameter
)

// Deflate is an offer of permessage-deflate, or the answer to it (RFC 7692 section 7.1).
type Deflate struct {
	// ServerBits and ClientBits are server_max_window_bits and client_max_window_bits: the
	// logarithm of the largest window that the side uses for compressing, from MinBits to
	// MaxBits, or NoBits. ClientBits of an offer may be AnyBits.
	ServerBits, ClientBits uint8
	// ServerNoContext and ClientNoContext are server_no_context_takeover and
	// client_no_context_takeover: the side begins each message with an empty window.
	ServerNoContext, ClientNoContext bool
}

// Windows returns the logarithms of the windows that an answer lets server and client use.
func (d Deflate) Windows() (server, client uint8) {
	return orMax(d.ServerBits), orMax(d.ClientBits)
}

func orMax(bits uint8) uint8 {
	if bits < MinBits {
		return MaxBits
	}
	return bits
}

const (
	deflateName     = "permessage-deflate"
	serverNoContext = "server_no_context_takeover"
	clientNoContext = "client_no_context_takeover"
	serverBits      = "server_max_window_bits"
	clientBits      = "client_max_window_bits"
)

// AppendDeflate appends an element for Sec-WebSocket-Extensions.
func AppendDeflate(dst []byte, d Deflate) []byte {
	dst = append(dst, deflateName...)
	if d.ServerNoContext {
		dst = append(dst, "; "+serverNoContext...)
	}
	if d.ClientNoContext {
		dst = append(dst, "; "+clientNoContext...)
	}
	dst = appendBits(dst, "; "+serverBits, d.ServerBits)
	return appendBits(dst, "; "+clientBits, d.ClientBits)
}

func appendBits(dst []byte, name string, bits uint8) []byte {
	switch bits {
	case NoBits:
		return dst
	case AnyBits:
		return append(dst, name...)
	}
	return ascii.AppendUint(append(append(dst, name...), '='), int(bits))
}

// maxOffers is the maximum number of offers examined: clients send two or three.
const maxOffers = 8

// ParseOffers appends the offers of permessage-deflate in a Sec-WebSocket-Extensions field
// of a request, in the client's order of preference, and at most until dst has 8. It
// leaves out other extensions, and offers with an invalid, unknown or repeated parameter,
// which the server must decline. If there are several fields, their offers follow one
// another. The error is ErrExtensions.
func ParseOffers(dst []Deflate, field []byte) ([]Deflate, error) {
	for len(field) > 0 {
		d, v, rest, err := nextDeflate(field, AnyBits)
		if err != nil {
			return dst, err
		}
		if v == isValid && len(dst) < maxOffers {
			dst = append(dst, d)
		}
		field = rest
	}
	return dst, nil
}

// Terms define which parts of an offer a server accepts.
type Terms struct {
	// ServerBits and ClientBits are the largest windows that the two sides may use, and
	// LeastBits is the smallest window that the server can use for compressing. The zero
	// values mean MaxBits, MaxBits and MinBits. The server cannot ask for a smaller window
	// if the client has not offered client_max_window_bits.
	ServerBits, ClientBits, LeastBits uint8
	// ServerNoContext and ClientNoContext demand that the side begins each message with an
	// empty window.
	ServerNoContext, ClientNoContext bool
}

// Answer returns the answer to an offer, or false if the server declines it.
func (t Terms) Answer(offer Deflate) (answer Deflate, ok bool) {
	server := min(orMax(offer.ServerBits), orMax(t.ServerBits))
	if server < t.LeastBits {
		return Deflate{}, false
	}
	answer = Deflate{
		ServerNoContext: offer.ServerNoContext || t.ServerNoContext,
		ClientNoContext: offer.ClientNoContext || t.ClientNoContext,
	}
	if offer.ServerBits != NoBits || server < MaxBits {
		answer.ServerBits = server
	}
	if offer.ClientBits == NoBits {
		return answer, true
	}
	if client := min(orMax(offer.ClientBits), orMax(t.ClientBits)); client < MaxBits {
		answer.ClientBits = client
	}
	return answer, true
}

// ParseAnswer parses the Sec-WebSocket-Extensions field of a response to a client that has
// made this offer and no other. accepted is false if the field has no element. ClientBits
// of the answer is at most ClientBits of the offer: a client that has named a window keeps
// to it, even if the server permits a larger one. The error is ErrExtensions, or ErrAnswer
// if the server has not answered the offer: the client fails the connection.
func ParseAnswer(field []byte, offer Deflate) (answer Deflate, accepted bool, err error) {
	for len(field) > 0 {
		d, v, rest, err := nextDeflate(field, NoBits)
		if err != nil {
			return Deflate{}, false, err
		}
		field = rest
		if v == isEmpty {
			continue
		}
		if v != isValid || accepted || !d.answers(offer) {
			return Deflate{}, false, ErrAnswer
		}
		if offer.ClientBits >= MinBits && offer.ClientBits < orMax(d.ClientBits) {
			d.ClientBits = offer.ClientBits
		}
		answer, accepted = d, true
	}
	return answer, accepted, nil
}

// answers reports whether d is an answer to an offer (RFC 7692 sections 7.1.1 and 7.1.2).
func (d Deflate) answers(offer Deflate) bool {
	switch {
	case offer.ServerNoContext && !d.ServerNoContext:
		return false
	case offer.ServerBits != NoBits && (d.ServerBits == NoBits || d.ServerBits > offer.ServerBits):
		return false
	case d.ClientBits != NoBits && offer.ClientBits == NoBits:
		return false
	}
	return true
}
