package websocket

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gorilla/websocket"
)

// isPlain reports whether a path is for answerPlainly: the connection's messages are read and
// answered in turn, so that the order of all frames is defined.
func isPlain(path string) bool { return path == "/" || path == "/small" }

// answerPlainly returns each message to its sender, in one goroutine.
func answerPlainly(c conn, path string) {
	if path == "/small" || strings.HasPrefix(path, "/chat") {
		c.SetReadLimit(limit)
	}
	for {
		kind, p, err := c.ReadMessage()
		if err == nil {
			err = c.WriteMessage(kind, p)
		}
		if err != nil {
			return
		}
	}
}

// gorillaFails are rows that gorilla is known to fail. They show that the probes see a fault
// of a real library.
var gorillaFails = []string{
	"opening: HTTP/1.0", "opening: two keys", "opening: version 8", "opening: server_max_window_bits twice",
	"server: length 5 in 16 bits", "server: bad text", "server: bad text over two fragments", "server: a bomb", "server: a window of 9 bits",
	"client: length 5 in 16 bits", "client: bad text", "client: RSV1 in a packed continuation",
	"reply: another subprotocol", "reply: deflate with an unknown parameter",
}

func TestProbesFindFaultsOfGorilla(t *testing.T) {
	var mu sync.Mutex
	found := make(map[string]bool)
	failed := func(name string, err error) {
		mu.Lock()
		defer mu.Unlock()
		found[name] = true
		t.Logf("%s: %v", name, err)
	}
	// gorilla never answers some of the rows
	p := probe{patience: time.Second}
	up := websocket.Upgrader{Subprotocols: protocols, EnableCompression: true}
	addr := startHTTP(t, options{}, func(w http.ResponseWriter, r *http.Request) {
		c, err := up.Upgrade(w, r, nil)
		if err != nil {
			return
		}
		defer c.Close()
		answerPlainly(c, r.URL.Path)
	})
	checkServer(t, p, addr, failed)
	checkClient(t, p, func(url string, compress bool) error {
		d := websocket.Dialer{Subprotocols: []string{"chat.v1"}, EnableCompression: compress}
		c, _, err := d.DialContext(t.Context(), url, nil)
		if err != nil {
			return err
		}
		defer c.Close()
		answerPlainly(c, "/chat")
		return nil
	}, failed)
	for _, name := range gorillaFails {
		if !found[name] {
			t.Errorf("gorilla passes %q", name)
		}
	}
}

// TestEveryProbeCanFail has sides that accept everything, and sides that refuse everything. Each
// row must find fault with one of them.
func TestEveryProbeCanFail(t *testing.T) {
	found := make(map[string]int)
	var names []string
	p := probe{patience: 300 * time.Millisecond}
	for _, careless := range []bool{true, false} {
		failed := func(name string, _ error) { found[name]++ }
		ln, err := net.Listen("tcp4", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = ln.Close() })
		go func() {
			for {
				c, err := ln.Accept()
				if err != nil {
					return
				}
				go shamServer(c, careless)
			}
		}()
		counted := func(name string, err error) { failed(name, err) }
		checkServer(t, p, ln.Addr().String(), counted)
		checkClient(t, p, func(url string, _ bool) error { return shamClient(url, careless) }, counted)
	}
	for _, o := range openings {
		names = append(names, "opening: "+o.name)
	}
	for _, r := range replies {
		names = append(names, "reply: "+r.name)
	}
	for _, r := range slices.Concat(frameRows, deflateRows) {
		if r.side != asClient {
			names = append(names, "server: "+r.name)
		}
		if r.side != asServer && r.offer != takeover {
			names = append(names, "client: "+r.name)
		}
	}
	t.Logf("%d rows", len(names))
	for _, name := range names {
		if found[name] == 0 {
			t.Errorf("%q can't fail", name)
		}
	}
}

var errSham = errors.New("refused")

// shamServer accepts any request, or none.
func shamServer(c net.Conn, careless bool) {
	defer c.Close()
	r := bufio.NewReader(c)
	var key, offer string
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			return
		}
		if line = strings.TrimSpace(line); line == "" {
			break
		}
		name, value, _ := strings.Cut(line, ":")
		switch strings.ToLower(name) {
		case "sec-websocket-key":
			key = strings.TrimSpace(value)
		case "sec-websocket-extensions":
			offer = "Sec-WebSocket-Extensions:" + value + "\r\n"
		}
	}
	if !careless {
		_, _ = io.WriteString(c, "HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n")
		return
	}
	_, _ = io.WriteString(c, switching+upgrading+"Sec-WebSocket-Accept: "+acceptOf(key)+"\r\n"+offer+"\r\n")
	shamAnswers(c, r, false)
}

// shamClient takes any response for a good one, or none.
func shamClient(url string, careless bool) error {
	host, path, _ := strings.Cut(strings.TrimPrefix(url, "ws://"), "/")
	c, err := net.Dial("tcp4", host)
	if err != nil {
		return err
	}
	defer c.Close()
	fmt.Fprintf(c, "GET /%s HTTP/1.1\r\nHost: %s\r\n%sSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: %s\r\nSec-WebSocket-Extensions: %s\r\n\r\n", path, host, upgrading, sampleKey, deflate)
	r := bufio.NewReader(c)
	if !careless {
		_, _ = r.ReadString('\n')
		return errSham
	}
	for {
		line, err := r.ReadString('\n')
		if err != nil || line == "\r\n" {
			break
		}
	}
	shamAnswers(c, r, true)
	return nil
}

// shamAnswers returns the payload of each frame as text, and never closes by itself before a
// silence.
func shamAnswers(c net.Conn, r *bufio.Reader, asClient bool) {
	if asClient {
		_, _ = c.Write(frame{first: finText, payload: "hello"}.append(nil, true))
	}
	_ = c.SetReadDeadline(time.Now().Add(100 * time.Millisecond))
	fr := &frameReader{r: r, ofClient: !asClient}
	for {
		_, p, err := fr.frame()
		if err != nil {
			return
		}
		if _, err := c.Write(frame{first: finText, payload: string(p)}.append(nil, asClient)); err != nil {
			return
		}
	}
}
