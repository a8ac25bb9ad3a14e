package tlswire

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"crypto/tls"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"hash"
	"io"
	"math/rand/v2"
	"net"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/valyala/fasthttp/internal/servertest"
)

// socket is a Socket whose peer is the test: in are the bytes that have arrived, and out
// the bytes written, for which there is room. Before the test plays the peer, it is a pipe.
type socket struct {
	net.Conn
	in, out bytes.Buffer
	room    int
	ended   bool
	played  bool // by the test
}

func (s *socket) ReadNow(p []byte) (int, error) {
	n, err := s.in.Read(p)
	if err == io.EOF && !s.ended {
		return 0, syscall.EAGAIN
	}
	return n, err
}

// Await lets the pipe play the socket before the test does.
func (s *socket) Await() error {
	if s.in.Len() > 0 || s.played {
		return nil
	}
	b := make([]byte, 1<<16)
	n, err := s.Conn.Read(b)
	s.in.Write(b[:n])
	return err
}

func (s *socket) WriteNow(p []byte) (int, error) {
	n := min(len(p), s.room)
	s.room -= n
	s.out.Write(p[:n])
	if n < len(p) {
		return n, syscall.EAGAIN
	}
	return n, nil
}

// clientEnd is the transport of the client: after the handshake its Read returns the
// server's output, and its Write collects.
type clientEnd struct {
	net.Conn
	server *socket
	sent   *bytes.Buffer
}

func (c *clientEnd) Read(p []byte) (int, error) {
	if c.sent == nil {
		return c.Conn.Read(p)
	}
	n, err := c.server.out.Read(p)
	if err == io.EOF {
		err = syscall.EAGAIN
	}
	return n, err
}

func (c *clientEnd) Write(p []byte) (int, error) {
	if c.sent == nil {
		return c.Conn.Write(p)
	}
	return c.sent.Write(p)
}

// pair is a connection after its handshake: the View of the server, its Socket, and the
// client, whose records are in sent.
type pair struct {
	t      *testing.T
	v      *View
	socket *socket
	client *tls.Conn
	sent   bytes.Buffer
	keys   strings.Builder
}

func newPair(t *testing.T, version uint16) *pair {
	t.Helper()
	return newPairWith(t, serverConfig(t), &tls.Config{InsecureSkipVerify: true, MinVersion: version, MaxVersion: version})
}

func newPairWith(t *testing.T, serving, asking *tls.Config) *pair {
	t.Helper()
	near, far := net.Pipe()
	p := &pair{t: t, socket: &socket{Conn: far, room: 1 << 30}}
	asking.KeyLogWriter = &p.keys
	server := Server(p.socket, nil, serving)
	end := &clientEnd{Conn: near, server: p.socket}
	p.client = tls.Client(end, asking)
	failed := make(chan error, 1)
	go func() { failed <- server.Handshake() }()
	if err := errors.Join(p.client.Handshake(), servertest.Receive(t, "the handshake of the server", failed)); err != nil {
		t.Fatal(err)
	}
	end.sent = &p.sent
	p.socket.played = true
	p.v, _ = ViewOf(server)
	return p
}

// read reads until there is nothing at the moment.
func (p *pair) read() (got []byte, err error) {
	b := make([]byte, 1000)
	for {
		n, err := p.v.ReadNow(b)
		got = append(got, b[:n]...)
		if err != nil {
			return got, err
		}
	}
}

// expect checks that the server gets the text if it receives the client's records in pieces
// of a size.
func (p *pair) expect(text string, size int) {
	p.t.Helper()
	var got []byte
	for p.sent.Len() > 0 {
		p.socket.in.Write(p.sent.Next(size))
		some, err := p.read()
		if got = append(got, some...); err != syscall.EAGAIN {
			p.t.Fatalf("reading ended with %v after %d bytes", err, len(got))
		}
		if w := p.v.wire; p.v.HasInput() || w.buffer != nil || w.gathered != nil {
			p.t.Fatal("a connection that has read everything holds a buffer")
		}
	}
	if string(got) != text {
		p.t.Fatalf("got %d bytes, %.40q, want %d, %.40q", len(got), got, len(text), text)
	}
}

// receive checks the text that the client receives.
func (p *pair) receive(text string) {
	p.t.Helper()
	got := make([]byte, len(text))
	if _, err := io.ReadFull(p.client, got); err != nil || string(got) != text {
		p.t.Fatalf("the client got %.40q, %v, want %.40q", got, err, text)
	}
}

func forEachVersion(t *testing.T, test func(t *testing.T, p *pair)) {
	for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		t.Run(tls.VersionName(version), func(t *testing.T) { test(t, newPair(t, version)) })
	}
}

func TestReadNowGoesOnAnywhereInARecord(t *testing.T) {
	forEachVersion(t, func(t *testing.T, p *pair) {
		for _, size := range []int{1, 2, 5, 97, 4096, 1 << 20} {
			for _, length := range []int{1, 300, 999, 1000, 1001, 20_000} {
				text := strings.Repeat("0123456789", length/10+1)[:length]
				for _, part := range []string{text[:length/2], text[length/2:]} {
					if _, err := io.WriteString(p.client, part); err != nil {
						t.Fatal(err)
					}
				}
				p.expect(text, size)
			}
		}
	})
}

// A record is read into the tls.Conn, and bytes received with it stay in a separate buffer
// until they are read.
func TestReadNowKeepsWhatComesBehindARecord(t *testing.T) {
	forEachVersion(t, func(t *testing.T, p *pair) {
		for _, texts := range [][]string{{"alone"}, {"first", "second"}, {"a", strings.Repeat("b", 300), "c", strings.Repeat("d", 2000), "e"}} {
			for _, text := range texts {
				_, _ = io.WriteString(p.client, text)
			}
			p.socket.in.Write(p.sent.Next(p.sent.Len()))
			b := make([]byte, 4096)
			for i, text := range texts {
				n, err := p.v.ReadNow(b)
				if string(b[:n]) != text || err != nil {
					t.Fatalf("record %d of %d: %.40q, %v, want %.40q", i, len(texts), b[:n], err, text)
				}
				if w, last := p.v.wire, i == len(texts)-1; last && (w.buffer != nil || p.v.HasInput()) {
					t.Errorf("behind the last of %d records a buffer is held", len(texts))
				}
			}
			if _, err := p.v.ReadNow(b); err != syscall.EAGAIN {
				t.Errorf("behind %d records: %v", len(texts), err)
			}
		}
	})
}

// A look for the end may run while a goroutine writes, and sends its gathered records.
func TestLookForEndBesideAWrite(t *testing.T) {
	forEachVersion(t, func(t *testing.T, p *pair) {
		p.v.gather(100)
		_, _ = io.WriteString(p.client, "ab")
		p.socket.in.Write(p.sent.Next(p.sent.Len()))
		var first [1]byte
		if _, err := p.v.ProbeCloseNotify(p.socket.in.Bytes(), first[:]); err != nil {
			t.Fatal(err)
		}
		_, err := p.v.Conn.Write([]byte("early"))
		if _, now := p.v.ProbeCloseNotify(nil, first[:]); now != nil {
			t.Fatal(now)
		}
		nc := &servertest.FakeConn{OnWrite: func(b []byte) { p.socket.out.Write(b) }}
		p.v.Move(nc)
		if err = p.v.send(err); err != nil {
			t.Fatal(err)
		}
		p.receive("early")
	})
}

// A look for the end does not wait for a goroutine that waits for room.
func TestLookForEndBesideAWriteThatWaits(t *testing.T) {
	forEachVersion(t, func(t *testing.T, p *pair) {
		waits, room := make(chan struct{}), make(chan struct{})
		p.v.Move(&servertest.FakeConn{OnWrite: func(b []byte) {
			close(waits)
			<-room
			p.socket.out.Write(b)
		}})
		written := make(chan error, 1)
		go func() {
			_, err := p.v.Write([]byte("early"))
			written <- err
		}()
		servertest.Receive(t, "a write that waits", waits)
		_ = p.client.CloseWrite()
		p.v.wire.ahead = bytes.Clone(p.sent.Next(p.sent.Len()))
		servertest.Soon(t, "the look", func() {
			if n, err := p.v.ProbeCloseNotify(nil, make([]byte, 1)); n > 0 || err != io.EOF {
				t.Errorf("got %d, %v", n, err)
			}
		})
		close(room)
		servertest.Must(t, servertest.Receive(t, "the end of the write", written))
		p.receive("early")
	})
}

// A record written while a read ends is sent.
func TestWriteWhileAReadEnds(t *testing.T) {
	p := newPair(t, tls.VersionTLS13)
	p.socket.Conn = &servertest.FakeConn{OnWrite: func([]byte) {}}
	w := p.v.wire
	for range 1000 {
		w.waitless.Add(1)
		written := make(chan struct{})
		go func() {
			_, _ = w.Write([]byte("record"))
			close(written)
		}()
		for w.unsent() == 0 && rand.IntN(10) > 0 {
			runtime.Gosched()
		}
		w.waitless.Add(-1)
		_ = w.push()
		servertest.Receive(t, "the end of the write", written)
		if n := w.unsent(); n > 0 {
			t.Fatalf("%d bytes are left behind", n)
		}
	}
}

func TestReadNowFindsTheEnd(t *testing.T) {
	forEachVersion(t, func(t *testing.T, p *pair) {
		_, _ = io.WriteString(p.client, "last")
		_ = p.client.CloseWrite()
		end := p.sent.Bytes()
		for i := range end {
			p.socket.in.WriteByte(end[i])
			_, err := p.read()
			if last := i == len(end)-1; last != (err == io.EOF) {
				t.Fatalf("byte %d of %d: %v", i, len(end), err)
			}
		}
	})
}

// An end without an alert is a clean end only between two records.
func TestReadNowOfAConnectionThatWasCut(t *testing.T) {
	forEachVersion(t, func(t *testing.T, p *pair) {
		_, _ = io.WriteString(p.client, "text")
		p.expect("text", 7)
		_, _ = io.WriteString(p.client, "cut")
		p.socket.in.Write(p.sent.Next(9))
		p.socket.ended = true
		if _, err := p.read(); err != io.ErrUnexpectedEOF {
			t.Errorf("in the middle of a record: %v", err)
		}
		if _, err := p.read(); err != io.ErrUnexpectedEOF {
			t.Errorf("after that: %v", err)
		}
	})
}

func TestReadNowOfBytesThatAreNoRecord(t *testing.T) {
	forEachVersion(t, func(t *testing.T, p *pair) {
		p.socket.in.WriteString("GET / HTTP/1.1\r\n\r\n")
		if _, err := p.read(); err == nil || isTemporary(err) {
			t.Errorf("got %v", err)
		}
		if p.socket.out.Len() == 0 {
			t.Error("there was no alert")
		}
	})
}

func TestSendWritesAsMuchAsThereIsRoomFor(t *testing.T) {
	forEachVersion(t, func(t *testing.T, p *pair) {
		big := strings.Repeat("0123456789abcdef", 40_000)
		for _, step := range []int{1 << 30, 300_000, 70_000, 1111} {
			for _, out := range [][2]string{{"head", ""}, {"head", "tail"}, {"", "tail"}, {"head", big}, {big, ""}, {big, "tail"}, {big, big}} {
				head, tail := []byte(out[0]), []byte(out[1])
				whole, sent, rounds := out[0]+out[1], 0, 0
				for p.socket.room = step; ; p.socket.room = step {
					n, err := p.v.Send(head, tail)
					sent += n
					if k := min(n, len(head)); k < n {
						head, tail = nil, tail[n-k:]
					} else {
						head = head[k:]
					}
					if err == nil {
						break
					}
					if err != syscall.EAGAIN || sent >= len(whole) {
						t.Fatalf("after %d of %d bytes: %v", sent, len(whole), err)
					}
					if w := p.v.wire; len(w.gathered.B) > GatherSize || !p.v.Sending() {
						t.Fatalf("%d bytes wait for room", len(w.gathered.B))
					}
					rounds++
				}
				if p.v.wire.gathered != nil || p.v.Sending() || sent != len(whole) {
					t.Fatalf("%d bytes of %d were sent, with %v left", sent, len(whole), p.v.wire.gathered)
				}
				p.receive(whole)
				if want := len(whole) / step / 2; rounds < want {
					t.Errorf("%d rounds, want %d", rounds, want)
				}
			}
		}
	})
}

// A broken connection stays broken.
func TestSendFailsForGood(t *testing.T) {
	p := newPair(t, tls.VersionTLS13)
	broken := &brokenSocket{socket: p.socket}
	p.v.Move(broken)
	for range 2 {
		if n, err := p.v.Send([]byte("head"), nil); n != 0 || !errors.Is(err, syscall.EPIPE) {
			t.Errorf("Send: %d, %v", n, err)
		}
	}
}

type brokenSocket struct{ *socket }

func (*brokenSocket) WriteNow([]byte) (int, error) { return 0, syscall.EPIPE }

func TestGoodbyeEndsInOrder(t *testing.T) {
	forEachVersion(t, func(t *testing.T, p *pair) {
		if _, err := p.v.Send([]byte("last"), nil); err != nil {
			t.Fatal(err)
		}
		p.socket.room = 3
		if err := p.v.Goodbye(); err != syscall.EAGAIN {
			t.Errorf("Goodbye without room: %v", err)
		}
		p.socket.room = 1000
		if err := p.v.Push(); err != nil {
			t.Error(err)
		}
		if got, err := io.ReadAll(p.client); string(got) != "last" || err != nil {
			t.Errorf("the client got %q, %v", got, err)
		}
		if err := p.v.Goodbye(); err != nil {
			t.Errorf("a second Goodbye: %v", err)
		}
		if p.socket.out.Len() > 0 {
			t.Error("there is something behind the end")
		}
	})
}

// Output for which there was no room without waiting precedes later output.
func TestWriteAfterMoveKeepsTheOrder(t *testing.T) {
	forEachVersion(t, func(t *testing.T, p *pair) {
		p.socket.room = 10
		if _, err := p.v.Send([]byte("first "), nil); err != syscall.EAGAIN {
			t.Fatal(err)
		}
		nc := &servertest.FakeConn{OnWrite: func(b []byte) { p.socket.out.Write(b) }}
		p.v.Move(nc)
		for _, text := range []string{"second ", "third"} {
			if _, err := io.WriteString(p.v, text); err != nil {
				t.Fatal(err)
			}
		}
		p.receive("first second third")
		if under, ok := Transport(p.v.Conn.NetConn()); under != net.Conn(nc) || !ok {
			t.Errorf("the transport is %v", under)
		}
		// bytes that have arrived are read from there
		_, _ = io.WriteString(p.client, "more")
		nc.Pieces = [][]byte{p.sent.Bytes()}
		got := make([]byte, 10)
		if n, err := p.v.Read(got); string(got[:n]) != "more" || err != nil {
			t.Errorf("got %q, %v", got[:n], err)
		}
	})
}

// handClient makes the records of a client with TLS 1.3 by hand, as crypto/tls cannot
// change the keys.
type handClient struct {
	secret []byte
	new    func() hash.Hash
	size   int // of the key
	number uint64
}

func newHandClient(p *pair) *handClient {
	p.t.Helper()
	for _, line := range strings.Split(p.keys.String(), "\n") {
		if fields := strings.Fields(line); len(fields) == 3 && fields[0] == "CLIENT_TRAFFIC_SECRET_0" {
			secret, err := hex.DecodeString(fields[2])
			if err != nil {
				p.t.Fatal(err)
			}
			if suite := p.client.ConnectionState().CipherSuite; suite != tls.TLS_AES_128_GCM_SHA256 {
				p.t.Skipf("the connection has the cipher suite %s", tls.CipherSuiteName(suite))
			}
			return &handClient{secret: secret, new: sha256.New, size: 16}
		}
	}
	p.t.Fatal("there is no secret")
	return nil
}

func (c *handClient) expand(label string, size int) []byte {
	label = "tls13 " + label
	info := append([]byte{byte(size >> 8), byte(size), byte(len(label))}, label...)
	out, err := hkdf.Expand(c.new, c.secret, string(append(info, 0)), size)
	if err != nil {
		panic(err)
	}
	return out
}

// record returns a record with one message of a type.
func (c *handClient) record(kind byte, message string) []byte {
	block, _ := aes.NewCipher(c.expand("key", c.size))
	aead, _ := cipher.NewGCM(block)
	nonce := c.expand("iv", aead.NonceSize())
	var number [8]byte
	binary.BigEndian.PutUint64(number[:], c.number)
	c.number++
	for i, b := range number {
		nonce[len(nonce)-8+i] ^= b
	}
	inner := append([]byte(message), kind)
	head := []byte{23, 3, 3, 0, 0}
	binary.BigEndian.PutUint16(head[3:], uint16(len(inner)+aead.Overhead()))
	return aead.Seal(head, nonce, inner, head)
}

const (
	recordHandshake, recordData = 22, 23
	updateNotRequested          = "\x18\x00\x00\x01\x00"
	updateRequested             = "\x18\x00\x00\x01\x01"
)

// update makes the changes that follow the message about a new key.
func (c *handClient) update() {
	c.secret, c.number = c.expand("traffic upd", len(c.secret)), 0
}

func TestReadNowChangesTheKey(t *testing.T) {
	for _, size := range []int{1, 3, 1000} {
		p := newPair(t, tls.VersionTLS13)
		c := newHandClient(p)
		send := func(kind byte, text string) { p.sent.Write(c.record(kind, text)) }
		send(recordData, "before ")
		send(recordHandshake, updateRequested)
		c.update()
		send(recordData, "between ")
		// a message may be split into two records
		send(recordHandshake, updateNotRequested[:2])
		send(recordHandshake, updateNotRequested[2:])
		c.update()
		send(recordData, "after")
		p.expect("before between after", size)
		if p.socket.out.Len() == 0 {
			t.Error("the server has not changed its key")
		}
		if _, err := p.v.Send([]byte("answer"), nil); err != nil {
			t.Fatal(err)
		}
		p.receive("answer")
	}
}

// A peer that requests answers, and does not read them, is not read from.
func TestAnswersOfTLSAreBounded(t *testing.T) {
	p := newPair(t, tls.VersionTLS13)
	c := newHandClient(p)
	p.socket.room = 0
	for range 2000 {
		p.socket.in.Write(c.record(recordHandshake, updateRequested))
		c.update()
		p.socket.in.Write(c.record(recordData, "x"))
		if _, err := p.read(); err != syscall.EAGAIN {
			t.Fatal(err)
		}
		if n := p.v.wire.unsent(); n > MaxUnsent+100 {
			t.Fatalf("%d bytes wait for room", n)
		}
	}
	if p.socket.in.Len() == 0 {
		t.Error("everything was read")
	}
	if !p.v.Choked() {
		t.Error("it seems that more is read")
	}
	p.socket.room = 1 << 30
	if p.v.Choked() {
		t.Error("with room: it seems that nothing is read")
	}
	if got, err := p.read(); len(got) == 0 || err != syscall.EAGAIN {
		t.Errorf("with room: %d bytes, %v", len(got), err)
	}
}

// crypto/tls allocates once for each record that it receives completely; nothing else
// allocates.
func TestNothingIsAllocatedWithoutWaits(t *testing.T) {
	const ofTLS = 1
	if servertest.RaceDetector {
		t.Skip("the race detector makes pools forget")
	}
	forEachVersion(t, func(t *testing.T, p *pair) {
		const runs = 100
		for range runs + 1 {
			_, _ = io.WriteString(p.client, "request")
		}
		one := p.sent.Len() / (runs + 1)
		b, head, tail := make([]byte, 1000), make([]byte, 200), make([]byte, 20_000)
		if n := testing.AllocsPerRun(runs, func() {
			p.socket.in.Write(p.sent.Next(one))
			if n, err := p.v.ReadNow(b); n != 7 || err != nil || !p.v.Drained() {
				t.Fatal(n, err)
			}
			p.socket.out.Reset()
			if _, err := p.v.Send(head, tail); err != nil {
				t.Fatal(err)
			}
		}); n > ofTLS {
			t.Errorf("%v allocations, want %d", n, ofTLS)
		}
	})
}

// Bytes read ahead can outlast the event that more has arrived.
func TestDrainedCountsFromTheLastArrival(t *testing.T) {
	forEachVersion(t, func(t *testing.T, p *pair) {
		b := make([]byte, 1000)
		arrive := func() {
			_, _ = io.WriteString(p.client, "x")
			p.socket.in.Write(p.sent.Next(p.sent.Len()))
			p.v.Arrived()
		}
		read := func(drained bool) {
			t.Helper()
			if n, err := p.v.ReadNow(b); n != 1 || err != nil || p.v.Drained() != drained {
				t.Fatalf("got %d, %v, drained: %v", n, err, p.v.Drained())
			}
		}
		arrive()
		read(true)
		arrive()
		arrive()
		read(false)
		arrive()
		read(false)
		read(true)
	})
}

func TestLookForEnd(t *testing.T) {
	forEachVersion(t, func(t *testing.T, p *pair) {
		var first [1]byte
		look := func() (n int, err error) {
			return p.v.ProbeCloseNotify(p.socket.in.Bytes()[:min(p.socket.in.Len(), MaxAlert+1)], first[:])
		}
		arrive := func(size int) { p.socket.in.Write(p.sent.Next(size)) }
		quiet := func(what string) {
			t.Helper()
			had := p.socket.in.Len()
			if n, err := look(); n > 0 || err != nil || p.socket.in.Len() < had {
				t.Fatalf("%s: %d bytes, %v, and %d of %d are left", what, n, err, p.socket.in.Len(), had)
			}
		}
		quiet("nothing")
		for _, text := range []string{"x", "a request that is longer than an alert", strings.Repeat("long", 5000)} {
			_, _ = io.WriteString(p.client, text)
			for p.sent.Len() > 0 {
				arrive(min(10, p.sent.Len()))
				quiet("data")
			}
			if got, err := p.read(); string(got) != text || err != syscall.EAGAIN {
				t.Fatalf("got %d bytes, %v", len(got), err)
			}
		}

		// of two bytes it may read one, and the other is the next one
		_, _ = io.WriteString(p.client, "ab")
		arrive(p.sent.Len())
		n, err := look()
		if err != nil {
			t.Fatal(err)
		}
		if n > 0 && !p.v.HasInput() {
			t.Error("the second byte is not known of")
		}
		quiet("a record that was begun")
		if got, err := p.read(); string(first[:n])+string(got) != "ab" || err != syscall.EAGAIN {
			t.Errorf("got %q and %q, %v", first[:n], got, err)
		}

		// the alert after a request is found as soon as the request was read
		_, _ = io.WriteString(p.client, "request")
		if err := p.client.CloseWrite(); err != nil {
			t.Fatal(err)
		}
		arrive(p.sent.Len() - 1)
		quiet("data and a part of the alert")
		if n, err := p.v.ReadNow(make([]byte, 100)); n != 7 || err != nil {
			t.Fatal(n, err)
		}
		quiet("a part of the alert")
		arrive(1)
		quiet("the rest of the alert, of which a part was read ahead")
		if _, err := p.read(); err != io.EOF {
			t.Errorf("got %v", err)
		}
		if _, err := look(); err != nil {
			t.Errorf("after the end: %v", err)
		}
	})
	for name, leave := range map[string]func(p *pair){
		"alone":      func(p *pair) { p.socket.in.Write(p.sent.Next(p.sent.Len())) },
		"read ahead": func(p *pair) { p.v.wire.ahead = bytes.Clone(p.sent.Next(p.sent.Len())) },
	} {
		forEachVersion(t, func(t *testing.T, p *pair) {
			_ = p.client.CloseWrite()
			leave(p)
			if n, err := p.v.ProbeCloseNotify(p.socket.in.Bytes(), make([]byte, 1)); n > 0 || err != io.EOF {
				t.Errorf("%s: got %d, %v", name, n, err)
			}
			if _, err := p.read(); err != io.EOF {
				t.Errorf("%s: then %v", name, err)
			}
		})
	}
}
