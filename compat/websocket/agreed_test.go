package websocket

import (
	"crypto/sha1"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
)

func acceptOf(key string) string {
	sum := sha1.Sum([]byte(key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"))
	return base64.StdEncoding.EncodeToString(sum[:])
}

// checkRequest checks the opening handshake of a client (RFC 6455 section 4.1).
func checkRequest(req *http.Request, host string) error {
	for _, want := range []string{"Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Version: 13"} {
		if err := checkField(req.Header, want); err != nil {
			return err
		}
	}
	keys := req.Header.Values("Sec-WebSocket-Key")
	if len(keys) != 1 {
		return fmt.Errorf("%d keys", len(keys))
	}
	nonce, err := base64.StdEncoding.DecodeString(keys[0])
	switch {
	case err != nil || len(nonce) != 16:
		return fmt.Errorf("the key %q", keys[0])
	case req.Method != http.MethodGet || req.ProtoMajor != 1 || req.ProtoMinor != 1:
		return fmt.Errorf("%s and %s", req.Method, req.Proto)
	case req.Host != host || req.RequestURI != "/chat?x=1":
		return fmt.Errorf("the target %s of %s", req.RequestURI, req.Host)
	}
	return nil
}

// agreed returns the unpacker for the messages of a server, or nil if there is no compression, and
// whether the client may refer to messages before. The error is for an answer of the server
// that no offer permits (RFC 7692 section 7.1).
func agreed(fields, answers []string) (u *unpacker, clientContext bool, err error) {
	if len(answers) == 0 {
		return nil, false, nil
	}
	if len(answers) > 1 || strings.Contains(answers[0], ",") {
		return nil, false, fmt.Errorf("the extensions of the server are %q", answers)
	}
	offer := strings.Join(fields, ", ")
	elements := strings.Split(answers[0], ";")
	if strings.TrimSpace(elements[0]) != deflate || !strings.Contains(offer, deflate) {
		return nil, false, fmt.Errorf("the extension of the server is %q", answers[0])
	}
	u, clientContext = &unpacker{window: 1 << 15}, true
	seen := make(map[string]bool)
	for _, e := range elements[1:] {
		name, value, _ := strings.Cut(strings.TrimSpace(e), "=")
		if seen[name] {
			return nil, false, fmt.Errorf("%s twice in %q", name, answers[0])
		}
		seen[name] = true
		bits, notNumber := strconv.Atoi(strings.Trim(value, `"`))
		isBits := notNumber == nil && bits >= 8 && bits <= 15
		switch {
		case name == "server_no_context_takeover" && value == "":
			u.noContext = true
		case name == "client_no_context_takeover" && value == "":
			clientContext = false
		case name == "server_max_window_bits" && isBits:
			u.window = 1 << bits
		case name == "client_max_window_bits" && isBits:
			if !strings.Contains(offer, name) {
				return nil, false, errors.New("client_max_window_bits without an offer of it")
			}
		default:
			return nil, false, fmt.Errorf("the parameter %q", e)
		}
	}
	const serverBits = "server_max_window_bits"
	if strings.Contains(offer, serverBits) && !strings.Contains(offer, ",") {
		_, limit, _ := strings.Cut(offer, serverBits+"=")
		if bits, err := strconv.Atoi(limit); err == nil && (!seen[serverBits] || u.window > 1<<bits) {
			return nil, false, fmt.Errorf("%q answers %q", answers[0], offer)
		}
	}
	return u, clientContext, nil
}
