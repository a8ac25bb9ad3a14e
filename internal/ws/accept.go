package ws

import (
	"crypto/sha1"
	"encoding/base64"
)

const (
	// keyGUID is hashed together with the key (RFC 6455 section 1.3).
	keyGUID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"

	// NonceSize is the size of the random value that a key encodes.
	NonceSize = 16
	// KeySize is the size of a Sec-WebSocket-Key: 22 digits and "==".
	KeySize = 24
	// AcceptSize is the size of a Sec-WebSocket-Accept.
	AcceptSize = 28

	keyDigits = KeySize - len("==")
)

// AppendKey appends the Sec-WebSocket-Key for a random value.
func AppendKey(dst []byte, nonce [NonceSize]byte) []byte {
	return base64.StdEncoding.AppendEncode(dst, nonce[:])
}

// IsKey reports whether key can be a Sec-WebSocket-Key: the base64 of 16 bytes. The bits
// of the last digit that encode nothing may be set, as they are in the example of RFC 6455
// section 4.1.
func IsKey(key []byte) bool {
	if len(key) != KeySize || string(key[keyDigits:]) != "==" {
		return false
	}
	for _, c := range key[:keyDigits] {
		if !isBase64[c] {
			return false
		}
	}
	return true
}

// isBase64 is the set of base64 digits (RFC 4648 section 4).
var isBase64 = base64Digits()

func base64Digits() (t [256]bool) {
	for _, c := range []byte("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/") {
		t[c] = true
	}
	return t
}

// AppendAccept appends the Sec-WebSocket-Accept that answers a key (RFC 6455 section
// 4.2.2). IsKey must report true for the key.
func AppendAccept(dst, key []byte) []byte {
	var text [KeySize + len(keyGUID)]byte
	sum := sha1.Sum(append(append(text[:0], key...), keyGUID...))
	return base64.StdEncoding.AppendEncode(dst, sum[:])
}

// Accepts reports whether accept is the Sec-WebSocket-Accept that answers a key.
func Accepts(accept, key []byte) bool {
	var want [AcceptSize]byte
	return string(accept) == string(AppendAccept(want[:0], key))
}
