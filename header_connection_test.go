package fasthttp

import (
	"fmt"
	"strings"
	"testing"
)

func TestHeaderConnectionCloseIsAToken(t *testing.T) {
	for value, want := range map[string]string{
		"close": "true false", "Close": "true false", "CLOSE": "true false", "close, TE": "true false", "TE,close": "true false",
		"keep-alive , CLOSE": "true false", ",close,": "true false", "keep-alive": "false false", "closed": "false false", "enclose": "false false",
		"Upgrade": "false true", "keep-alive, upgrade": "false true", "upgrade, close": "true false", "upgraded": "false false", "": "false false",
		"\tclose ": "true false", "close;q=1": "false false", "\"close\"": "false false",
	} {
		forBothHeaders(t, func(t *testing.T, h anyHeader) {
			h.Set("Connection", value)
			if got := fmt.Sprint(h.ConnectionClose(), " ", h.ConnectionUpgrade()); got != want {
				t.Errorf("Set(%q): close and upgrade are %s, want %s", value, got, want)
			}
			h.Set("connection", "x")
			if h.ConnectionClose() || h.ConnectionUpgrade() {
				t.Errorf("%q is still there: %s", value, written(h))
			}
		})
		h := readRequestHeader(t, "GET / HTTP/1.1\r\nHost: h\r\nConnection: "+value+"\r\n\r\n")
		if got := fmt.Sprint(h.ConnectionClose(), " ", h.ConnectionUpgrade()); got != want {
			t.Errorf("received %q: close and upgrade are %s, want %s", value, got, want)
		}
	}
}

func TestHeaderConnectionIsWhatAllLinesSay(t *testing.T) {
	for lines, want := range map[string]string{
		"Connection: keep-alive\r\nConnection: close\r\n": "true",
		"Connection: close\r\nConnection: keep-alive\r\n": "true",
		"Connection: a\r\nConnection: b, Close\r\n":       "true",
		"Connection: a\r\nConnection: b\r\n":              "false",
	} {
		h := readRequestHeader(t, "GET / HTTP/1.1\r\nHost: h\r\n"+lines+"\r\n")
		if got := fmt.Sprint(h.ConnectionClose()); got != want {
			t.Errorf("%q: close is %s", lines, got)
		}
		// the forwarded header has the same options
		again := readRequestHeader(t, h.String())
		if again.ConnectionClose() != h.ConnectionClose() {
			t.Errorf("%q is passed on as %s", lines, written(h))
		}
	}
}

func TestHeaderConnectionOfHTTP10(t *testing.T) {
	for lines, want := range map[string]bool{
		"": true, "Connection: keep-alive\r\n": false, "Connection: Keep-Alive\r\n": false, "Connection: x, keep-alive\r\n": false,
		"Connection: close\r\n": true, "Connection: keep-alive, close\r\n": true, "Connection: x\r\n": true,
	} {
		h := readRequestHeader(t, "GET / HTTP/1.0\r\n"+lines+"\r\n")
		if h.ConnectionClose() != want {
			t.Errorf("%q: close is %v", lines, h.ConnectionClose())
		}
		h = readRequestHeader(t, "GET / HTTP/1.0\r\nConnection: Upgrade\r\n"+lines+"\r\n")
		if h.ConnectionUpgrade() == want {
			t.Errorf("%q: upgrade is %v", lines, h.ConnectionUpgrade())
		}
	}
}

func TestHeaderSetConnectionCloseStandsBesideOtherOptions(t *testing.T) {
	forBothHeaders(t, func(t *testing.T, h anyHeader) {
		h.Set("Connection", "Upgrade")
		h.SetConnectionClose()
		h.SetConnectionClose()
		if got, want := written(h), "Connection: Upgrade|Connection: close"; got != want {
			t.Errorf("%s, want %s", got, want)
		}
		if got, want := listed(h.All()), "Connection: Upgrade|Connection: close"; got != want {
			t.Errorf("All gives %s, want %s", got, want)
		}
		if got := texts(h.PeekAll("Connection")); got != "Upgrade|close" {
			t.Errorf("PeekAll gives %s", got)
		}
		if !h.ConnectionClose() || h.ConnectionUpgrade() {
			t.Error("the connection closes, and so nothing comes of the upgrade")
		}
		h.ResetConnectionClose()
		if !h.ConnectionUpgrade() {
			t.Error("the other option is not known")
		}
		if got, want := written(h), "Connection: Upgrade"; got != want || h.ConnectionClose() {
			t.Errorf("%s, want %s", got, want)
		}
	})
}

func TestHeaderResetConnectionCloseTakesOnlyCloseAway(t *testing.T) {
	for value, want := range map[string]string{
		"close": "", "CLOSE": "", "close, TE": "Connection: TE", "TE, close": "Connection: TE", "a, close ,b,close": "Connection: a, b",
		"keep-alive": "Connection: keep-alive", ",close,": "", "closed": "Connection: closed",
	} {
		forBothHeaders(t, func(t *testing.T, h anyHeader) {
			h.Set("Before", "1")
			h.Set("Connection", value)
			h.Set("Behind", "2")
			h.ResetConnectionClose()
			if h.ConnectionClose() {
				t.Errorf("%q closes still", value)
			}
			if got, want := written(h), strings.ReplaceAll("Before: 1|"+want+"|Behind: 2", "||", "|"); got != want {
				t.Errorf("%q: %s, want %s", value, got, want)
			}
		})
	}
}

func TestHeaderPeekConnection(t *testing.T) {
	forBothHeaders(t, func(t *testing.T, h anyHeader) {
		if h.Peek("Connection") != nil {
			t.Errorf("an empty header has %q", h.Peek("Connection"))
		}
		h.SetConnectionClose()
		if got := string(h.Peek("connection")); got != "close" {
			t.Errorf("%q", got)
		}
		h.Del("Connection")
		if h.ConnectionClose() || h.Peek("Connection") != nil {
			t.Errorf("after Del %q", h.Peek("Connection"))
		}
		h.Set("Connection", "keep-alive, close")
		if got := string(h.Peek("connection")); got != "keep-alive, close" {
			t.Errorf("%q", got)
		}
	})
}
