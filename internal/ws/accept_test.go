package ws

import (
	"crypto/sha1"
	"encoding/base64"
	"strings"
	"testing"
)

func TestKeys(t *testing.T) {
	for _, tt := range []struct {
		key string
		ok  bool
	}{
		{"dGhlIHNhbXBsZSBub25jZQ==", true},
		{"AQIDBAUGBwgJCgsMDQ4PEC==", true}, // RFC 6455 section 4.1
		{"AAAAAAAAAAAAAAAAAAAAAA==", true},
		{"++++////++++////++++//==", true},
		{"", false},
		{"==", false},
		{"dGhlIHNhbXBsZSBub25jZQ=", false},
		{"dGhlIHNhbXBsZSBub25jZQ", false},
		{"dGhlIHNhbXBsZSBub25jZQ===", false},
		{"dGhlIHNhbXBsZSBub25jZTE=", false}, // 17 bytes
		{"dGhlIHNhbXBsZSBub25jZTEy", false}, // 18 bytes
		{"dGhlIHNhbXBsZSBub25j=Q==", false},
		{"dGhlIHNhbXBsZSBub25jZ===", false},
		{"dGhlIHNhbXBsZSBub25j\r\n==", false},
		{"dGhlIHNhbXBsZSBub25jZ-==", false},
		{"dGhlIHNhbXBsZSBub25jZ_==", false},
		{" GhlIHNhbXBsZSBub25jZQ==", false},
		{"dGhlIHNhbXBsZSBub25jZQ==, dGhlIHNhbXBsZSBub25jZQ==", false},
		{strings.Repeat("A", 1000), false},
	} {
		if IsKey([]byte(tt.key)) != tt.ok {
			t.Errorf("%q: %v", tt.key, !tt.ok)
		}
	}
}

// The example of RFC 6455 section 1.3.
func TestAcceptAnswersTheKey(t *testing.T) {
	key, want := []byte("dGhlIHNhbXBsZSBub25jZQ=="), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="
	if got := string(AppendAccept([]byte("x"), key)); got != "x"+want {
		t.Errorf("%q, want %q", got, "x"+want)
	}
	if got := string(AppendKey([]byte("x"), [NonceSize]byte([]byte("the sample nonce")))); got != "x"+string(key) {
		t.Errorf("the key is %q", got)
	}
	if !Accepts([]byte(want), key) {
		t.Error("the answer is not accepted")
	}
	for _, other := range []string{"", want[1:], want + " ", strings.ToLower(want), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo"} {
		if Accepts([]byte(other), key) {
			t.Errorf("%q is accepted", other)
		}
	}
}

func FuzzKey(f *testing.F) {
	for _, s := range []string{"dGhlIHNhbXBsZSBub25jZQ==", "AQIDBAUGBwgJCgsMDQ4PEC==", "dGhlIHNhbXBsZSBub25j\r\n==", ""} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, key []byte) {
		nonce, err := base64.StdEncoding.DecodeString(string(key))
		// the decoder ignores line breaks
		want := err == nil && len(nonce) == NonceSize && len(key) == KeySize
		if IsKey(key) != want {
			t.Fatalf("%q: %v", key, !want)
		}
		if !want {
			return
		}
		sum := sha1.Sum([]byte(string(key) + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"))
		if accept := base64.StdEncoding.EncodeToString(sum[:]); !Accepts([]byte(accept), key) || len(accept) != AcceptSize {
			t.Errorf("%q: %q", key, accept)
		}
	})
}
