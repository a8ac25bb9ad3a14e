package websocket

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/valyala/fasthttp/compat/internal/process"
)

// probe is the peer of a side under test: raw bytes over TCP. Each method returns an error if
// the side under test does not meet the wish of its row.
type probe struct {
	patience time.Duration // for everything that the side under test has to send
	bytewise bool          // each byte is sent in a segment of its own
}

var errInapplicable = errors.New("the sides have agreed on something for which the row is not")

// send sends bytes. An error means that the other side has closed the connection, and what is
// received shows whether it may.
func (p probe) send(c net.Conn, b []byte) {
	if !p.bytewise || len(b) > 4096 {
		_, _ = c.Write(b)
		return
	}
	for i := range b {
		if _, err := c.Write(b[i : i+1]); err != nil {
			return
		}
	}
}

// openServer sends an opening handshake to a server and returns the response. r continues after
// its head.
func (p probe) openServer(addr, head string) (c net.Conn, r *bufio.Reader, resp *http.Response, err error) {
	c, err = net.DialTimeout("tcp4", addr, p.patience)
	if err != nil {
		return nil, nil, nil, err
	}
	_ = c.SetDeadline(time.Now().Add(p.patience))
	p.send(c, []byte(head))
	r = bufio.NewReader(c)
	method, _, _ := strings.Cut(head, " ")
	resp, err = http.ReadResponse(r, &http.Request{Method: method})
	if err != nil {
		_ = c.Close()
		return nil, nil, nil, fmt.Errorf("no response: %w", err)
	}
	return c, r, resp, nil
}

// head returns the bytes of an opening handshake.
func (o *opening) head() string {
	line := o.line
	if line == "" {
		line = "GET / HTTP/1.1"
	}
	lines := []string{line}
	for _, field := range usualFields {
		if name, _, _ := strings.Cut(field, ":"); name != o.without {
			lines = append(lines, field)
		}
	}
	return strings.Join(append(lines, o.with...), "\r\n") + "\r\n\r\n"
}

// opening checks what a server makes of an opening handshake.
func (p probe) opening(addr string, o *opening) error {
	c, r, resp, err := p.openServer(addr, o.head())
	if err != nil {
		return err
	}
	defer c.Close()
	if status := fmt.Sprint(resp.StatusCode); !contains(o.status, status) {
		return fmt.Errorf("the status is %s, want %s", status, o.status)
	}
	for _, want := range o.answer {
		if err := checkField(resp.Header, want); err != nil {
			return err
		}
	}
	if resp.StatusCode != http.StatusSwitchingProtocols {
		if got := resp.Header.Get("Sec-WebSocket-Accept"); got != "" {
			return errors.New("a refusal has Sec-WebSocket-Accept")
		}
		return nil
	}
	unpack, _, err := agreed(o.with, resp.Header.Values("Sec-WebSocket-Extensions"))
	if err != nil {
		return err
	}
	return p.isOpen(c, &frameReader{r: r, unpack: unpack})
}

func contains(alternatives, s string) bool {
	for a := range strings.SplitSeq(alternatives, "/") {
		if a == s {
			return true
		}
	}
	return false
}

// checkField checks "Name: value", or "Name~ part of the value".
func checkField(h http.Header, want string) error {
	if name, part, ok := strings.Cut(want, "~ "); ok {
		if got := strings.Join(h.Values(name), ", "); !strings.Contains(got, part) {
			return fmt.Errorf("%s is %q, without %q", name, got, part)
		}
		return nil
	}
	name, value, _ := strings.Cut(want, ":")
	if got := strings.Join(h.Values(name), ", "); !strings.EqualFold(got, strings.TrimSpace(value)) {
		return fmt.Errorf("%s is %q, want %q", name, got, value)
	}
	return nil
}

// isOpen checks that the other side still answers, and that it performs the closing handshake.
func (p probe) isOpen(c net.Conn, fr *frameReader) error {
	var b []byte
	for _, f := range []frame{{first: finPing, payload: "open?"}, {first: finText, payload: "still"}, closeWith(1000, "")} {
		b = f.append(b, !fr.ofClient)
	}
	p.send(c, b)
	for _, want := range []string{"pong open?", "text still", "close 1000"} {
		got, err := fr.next()
		if err != nil {
			return fmt.Errorf("%w instead of %s at the end", err, want)
		}
		if got.String() != want {
			return fmt.Errorf("got %s instead of %s at the end", got, want)
		}
	}
	return p.isClosed(c, fr)
}

// isClosed checks that nothing follows a Close frame. A server closes the connection; of a
// client it is not required (RFC 6455 section 7.1.1).
func (p probe) isClosed(c net.Conn, fr *frameReader) error {
	if fr.ofClient {
		_ = c.(*net.TCPConn).CloseWrite()
	}
	got, err := fr.next()
	var timeout net.Error
	switch {
	case err == nil:
		return fmt.Errorf("%s follows the Close frame", got)
	case errors.As(err, &timeout) && timeout.Timeout():
		return errors.New("the connection stays open")
	case errors.Is(err, io.EOF), isReset(err):
		return nil
	}
	return fmt.Errorf("after the Close frame: %w", err)
}

// isReset reports whether the other side has closed the connection before it has read all that
// was sent, as it may.
func isReset(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && !op.Timeout()
}

// exchange sends the frames of a row and checks what is received.
func (p probe) exchange(c net.Conn, fr *frameReader, row *row) error {
	var b []byte
	for _, f := range row.send {
		b = f.append(b, !fr.ofClient)
	}
	p.send(c, b[:len(b)-row.end])
	if row.end > 0 {
		_ = c.(*net.TCPConn).CloseWrite()
	}
	want, closed := strings.Split(row.want, " | "), false
	for i, w := range want {
		got, err := fr.next()
		s := got.String()
		if errors.Is(err, io.EOF) || isReset(err) {
			s = "end"
		} else if err != nil {
			return fmt.Errorf("%w instead of %s", err, w)
		}
		closed = strings.HasPrefix(w, "close") && i == len(want)-1
		if s != w && !(closed && contains(w, s)) {
			return fmt.Errorf("got %s instead of %s", s, w)
		}
		if s == "end" {
			return nil
		}
	}
	if !closed {
		return p.isOpen(c, fr)
	}
	return p.isClosed(c, fr)
}

// server checks a row with a server.
func (p probe) server(addr string, row *row) error {
	o := opening{line: "GET /small HTTP/1.1"}
	if row.offer != "" {
		o.with = offers(row.offer)
	}
	c, r, resp, err := p.openServer(addr, o.head())
	if err != nil {
		return err
	}
	defer c.Close()
	if resp.StatusCode != http.StatusSwitchingProtocols {
		return fmt.Errorf("the status is %d", resp.StatusCode)
	}
	unpack, clientContext, err := agreed(o.with, resp.Header.Values("Sec-WebSocket-Extensions"))
	switch {
	case err != nil:
		return err
	case row.offer != "" && unpack == nil:
		return errors.New("the offer is declined")
	case row.offer == takeover && !clientContext:
		return errInapplicable
	}
	return p.exchange(c, &frameReader{r: r, unpack: unpack}, row)
}

// clientUnderTest dials the URL, and returns every message until there is an error. The limit
// for messages is the same as in the rows. It returns the error of the dial.
type clientUnderTest func(url string, compress bool) error

// acceptClient waits for a client, and reads its request.
func (p probe) acceptClient(ln net.Listener) (net.Conn, *bufio.Reader, *http.Request, error) {
	_ = ln.(*net.TCPListener).SetDeadline(time.Now().Add(p.patience))
	c, err := ln.Accept()
	if err != nil {
		return nil, nil, nil, err
	}
	_ = c.SetDeadline(time.Now().Add(p.patience))
	r := bufio.NewReader(c)
	req, err := http.ReadRequest(r)
	if err == nil {
		err = checkRequest(req, ln.Addr().String())
	}
	if err != nil {
		_ = c.Close()
		return nil, nil, nil, fmt.Errorf("the request: %w", err)
	}
	return c, r, req, nil
}

// withClient starts a client under test, and lets a function play the server.
func (p probe) withClient(dial clientUnderTest, compress bool, serve func(ln net.Listener) error) (dialed, err error) {
	ln, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	defer ln.Close()
	ended := make(chan error, 1)
	go func() { ended <- dial("ws://"+ln.Addr().String()+"/chat?x=1", compress) }()
	err = serve(ln)
	select {
	case dialed = <-ended:
		return dialed, err
	case <-time.After(p.patience):
		return nil, errors.Join(err, errors.New("the client does not end"))
	}
}

// client checks a row with a client.
func (p probe) client(dial clientUnderTest, row *row) error {
	dialed, err := p.withClient(dial, row.offer != "", func(ln net.Listener) error {
		c, r, req, err := p.acceptClient(ln)
		if err != nil {
			return err
		}
		defer c.Close()
		text := switching + upgrading + answering
		var unpack *unpacker
		if row.offer != "" {
			// the answer of a server that keeps no window, which suits every offer
			text += "Sec-WebSocket-Extensions: " + noContext + "\r\n"
			if !strings.Contains(strings.Join(req.Header.Values("Sec-WebSocket-Extensions"), ","), deflate) {
				return errors.New("the client does not offer compression")
			}
			unpack = &unpacker{window: 1 << 15, noContext: true}
		}
		p.send(c, []byte(fill(text+"\r\n", req)))
		return p.exchange(c, &frameReader{r: r, ofClient: true, unpack: unpack}, row)
	})
	if err == nil && dialed != nil {
		return fmt.Errorf("dialing: %w", dialed)
	}
	return err
}

// reply checks what a client makes of a response.
func (p probe) reply(dial clientUnderTest, rp *reply) error {
	dialed, err := p.withClient(dial, strings.HasPrefix(rp.name, "deflate"), func(ln net.Listener) error {
		c, r, req, err := p.acceptClient(ln)
		if err != nil {
			return err
		}
		defer c.Close()
		offer := req.Header.Get("Sec-WebSocket-Extensions")
		if rp.good && strings.Contains(rp.text, deflate) && strings.Contains(offer, "server_no_context") && !strings.Contains(rp.text, "server_no_context") {
			return errInapplicable
		}
		p.send(c, []byte(fill(rp.text, req)))
		if !rp.good {
			_ = c.(*net.TCPConn).CloseWrite()
			// a client that has accepted the response would now answer
			p.send(c, frame{first: finText, payload: "x"}.append(nil, false))
			rest, err := io.ReadAll(r)
			if len(rest) > 0 {
				return fmt.Errorf("the client has sent %q", rest)
			}
			if err != nil && !isReset(err) {
				return fmt.Errorf("the client has not closed the connection: %w", err)
			}
			return nil
		}
		fr := &frameReader{r: r, ofClient: true}
		if strings.HasPrefix(rp.name, "deflate") {
			fr.unpack = &unpacker{window: 1 << 15, noContext: strings.Contains(rp.text, "client_no_context")}
		}
		return p.isOpen(c, fr)
	})
	if err != nil {
		return err
	}
	if (dialed == nil) != rp.good {
		return fmt.Errorf("the dial has returned %v", dialed)
	}
	return nil
}

// fill puts values for the client's key into a response.
func fill(text string, req *http.Request) string {
	key := req.Header.Get("Sec-WebSocket-Key")
	accept := acceptOf(key)
	return strings.NewReplacer("ACCEPT", accept, "KEY", key, "SMALL", strings.ToLower(accept)).Replace(text)
}

const patience = process.Patience

// runProbe runs a row, which may be inapplicable.
func runProbe(t *testing.T, name string, check func() error, failed func(name string, err error)) {
	t.Run(name, func(t *testing.T) {
		if err := check(); errors.Is(err, errInapplicable) {
			t.Skip(err)
		} else if err != nil {
			failed(name, err)
		}
	})
}

// checkServer runs all rows for servers.
func checkServer(t *testing.T, p probe, addr string, failed func(name string, err error)) {
	run := func(name string, check func() error) { runProbe(t, name, check, failed) }
	for i := range openings {
		run("opening: "+openings[i].name, func() error { return p.opening(addr, &openings[i]) })
	}
	for _, rows := range [][]row{frameRows, deflateRows} {
		for i := range rows {
			if rows[i].side != asClient {
				run("server: "+rows[i].name, func() error { return p.server(addr, &rows[i]) })
			}
		}
	}
}

// checkClient runs all rows for clients.
func checkClient(t *testing.T, p probe, dial clientUnderTest, failed func(name string, err error)) {
	run := func(name string, check func() error) { runProbe(t, name, check, failed) }
	for i := range replies {
		run("reply: "+replies[i].name, func() error { return p.reply(dial, &replies[i]) })
	}
	for _, rows := range [][]row{frameRows, deflateRows} {
		for i := range rows {
			if rows[i].side != asServer && rows[i].offer != takeover {
				run("client: "+rows[i].name, func() error { return p.client(dial, &rows[i]) })
			}
		}
	}
}
