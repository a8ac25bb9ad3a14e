package clientconn

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"io"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/valyala/fasthttp/internal/netio"
	"github.com/valyala/fasthttp/internal/servertest"
)

// posting is a Conn that posts, and its peer.
type posting struct {
	line Conn
	peer net.Conn // below TLS, if there is any
	text io.Reader
	log  bytes.Buffer // of the peer's keys
	full func()       // called when the connection is full, unless it is nil
}

// wires are the kinds of connections below a Conn.
var wires = map[string]struct {
	dial   func(t *testing.T) (client, server net.Conn)
	secure bool
}{
	"plain":       {dial: dialTCP},
	"wrapped":     {dial: dialWrapped},
	"pipe":        {dial: func(*testing.T) (net.Conn, net.Conn) { return net.Pipe() }},
	"TLS":         {dial: dialTCP, secure: true},
	"wrapped TLS": {dial: dialWrapped, secure: true},
}

// dialTCP returns a connection with small buffers.
func dialTCP(t *testing.T) (client, server net.Conn) {
	t.Helper()
	client, server = servertest.TCPPair(t)
	servertest.Must(t, client.(*net.TCPConn).SetWriteBuffer(32<<10))
	servertest.Must(t, server.(*net.TCPConn).SetReadBuffer(32<<10))
	return client, server
}

func dialWrapped(t *testing.T) (client, server net.Conn) {
	client, server = dialTCP(t)
	return struct{ net.Conn }{client}, server
}

func newPosting(t *testing.T, dial func(t *testing.T) (client, server net.Conn), secure bool) *posting {
	t.Helper()
	client, server := dial(t)
	t.Cleanup(func() { _, _ = client.Close(), server.Close() })
	p := &posting{peer: server, text: server}
	p.line.Attach(client, 4096)
	if secure {
		cert, _ := servertest.CertificateFor(t, []string{"localhost"})
		s := tls.Server(server, &tls.Config{Certificates: []tls.Certificate{cert}, SessionTicketsDisabled: true, KeyLogWriter: &p.log})
		p.text = s
		shaken := make(chan error, 1)
		go func() { shaken <- s.Handshake() }()
		_, err := p.line.Handshake(t.Context(), &tls.Config{InsecureSkipVerify: true}, time.Time{}, func(*tls.ConnectionState) error { return nil })
		servertest.Must(t, err)
		servertest.Must(t, servertest.Receive(t, "the handshake", shaken))
	}
	p.line.StartPosting()
	return p
}

// post posts pieces of text, and flushes the rest.
func (p *posting) post(t *testing.T, text []byte) (waited int) {
	random := rand.New(rand.NewPCG(1, 2))
	for len(text) > 0 {
		n := min(len(text), 1+random.IntN(20<<10))
		waits, err := p.line.Post(text[:n])
		if err != nil {
			t.Error(err)
			return waited
		}
		text = text[n:]
		if !waits {
			continue
		}
		waited++
		if p.full != nil {
			p.full()
		}
		if err := p.line.Flush(time.Minute); err != nil {
			t.Error(err)
			return waited
		}
	}
	if p.line.HasUnsent() {
		t.Error("there is something left")
	}
	return waited
}

// Bytes that do not fit are flushed, in their order, to a peer that reads slowly.
func TestPostKeepsTheOrder(t *testing.T) {
	for name, w := range wires {
		t.Run(name, func(t *testing.T) {
			p := newPosting(t, w.dial, w.secure)
			text := servertest.Noise(512 << 10)
			got := make([]byte, len(text))
			full := make(chan struct{})
			p.full = sync.OnceFunc(func() { close(full) })
			var all sync.WaitGroup
			all.Go(func() {
				<-full
				for read := 0; read < len(got); {
					n, err := p.text.Read(got[read:min(read+3000, len(got))])
					if read += n; err != nil {
						t.Error(err)
						return
					}
				}
			})
			waited := p.post(t, text)
			p.full()
			all.Wait()
			if !bytes.Equal(got, text) {
				t.Error("the peer has received something else")
			}
			if waited == 0 {
				t.Error("the connection has taken everything at once")
			}
			if limit := p.line.Guard.writeBy; !limit.IsZero() {
				t.Errorf("a deadline is left: %v", limit)
			}
		})
	}
}

// A peer that reads nothing ends the connection for good.
func TestFlushDoesNotWaitForever(t *testing.T) {
	for name, w := range wires {
		t.Run(name, func(t *testing.T) {
			p := newPosting(t, w.dial, w.secure)
			var err error
			for range 1000 {
				var waits bool
				if waits, err = p.line.Post(make([]byte, 64<<10)); err != nil {
					break
				}
				if !waits {
					continue
				}
				if err = p.line.Flush(time.Millisecond); err != nil {
					break
				}
			}
			if !netio.IsTimeout(err) {
				t.Fatalf("got %v", err)
			}
			if _, again := p.line.Post([]byte("x")); again != err {
				t.Errorf("another post: %v, want %v", again, err)
			}
			if again := p.line.Flush(time.Minute); again != err && p.line.HasUnsent() {
				t.Errorf("another flush: %v, want %v", again, err)
			}
		})
	}
}

// A peer that reads slowly, but always something, is waited for, until all writes must end.
func TestFlushWaitsForASlowPeer(t *testing.T) {
	servertest.Bubble(t, func(t *testing.T) {
		p := newPosting(t, wires["pipe"].dial, false)
		var all sync.WaitGroup
		all.Go(func() {
			// at most 50 KB a second
			for buf := make([]byte, 1000); ; time.Sleep(20 * time.Millisecond) {
				if _, err := p.peer.Read(buf); err != nil {
					return
				}
			}
		})
		began := time.Now()
		flush := func() error {
			if waits, err := p.line.Post(make([]byte, 64<<10)); !waits || err != nil {
				t.Fatalf("%v, %v", waits, err)
			}
			return p.line.Flush(100 * time.Millisecond)
		}
		servertest.Must(t, flush())
		if took := time.Since(began); took < time.Second || p.line.HasUnsent() {
			t.Errorf("it took %v, and there is a rest: %v", took, p.line.HasUnsent())
		}
		const last = 300 * time.Millisecond
		began = time.Now()
		servertest.Must(t, p.line.EndWrites(began.Add(last)))
		if err := flush(); !netio.IsTimeout(err) || time.Since(began) != last {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
		_ = p.peer.Close()
		all.Wait()
	})
}

// Writes to a connection that the peer has closed fail, and with TLS no write is left half
// done.
func TestPostToNobodyFails(t *testing.T) {
	for name, w := range wires {
		t.Run(name, func(t *testing.T) {
			p := newPosting(t, w.dial, w.secure)
			if tcp, ok := p.peer.(*net.TCPConn); ok {
				servertest.Must(t, tcp.SetLinger(0))
			}
			servertest.Must(t, p.peer.Close())
			var err error
			for err == nil {
				var waits bool
				if waits, err = p.line.Post([]byte("text")); waits {
					err = p.line.Flush(time.Minute)
				}
			}
			if netio.IsTimeout(err) {
				t.Errorf("got %v", err)
			}
		})
	}
}

// updateRequest returns the record with which a TLS 1.3 server requests a key update, if it
// is the first one after the handshake (RFC 8446 sections 4.6.3, 5.2 and 7.3).
func updateRequest(t *testing.T, keys string) []byte {
	t.Helper()
	_, rest, found := strings.Cut(keys, "SERVER_TRAFFIC_SECRET_0 ")
	fields := strings.Fields(rest)
	if !found || len(fields) < 2 {
		t.Fatalf("no secret in %q", keys)
	}
	secret, err := hex.DecodeString(fields[1])
	servertest.Must(t, err)
	expand := func(label string, size int) []byte {
		label = "tls13 " + label
		info := append([]byte{0, byte(size), byte(len(label))}, label...)
		b, err := hkdf.Expand(sha256.New, secret, string(append(info, 0)), size)
		servertest.Must(t, err)
		return b
	}
	block, err := aes.NewCipher(expand("key", 16))
	servertest.Must(t, err)
	aead, err := cipher.NewGCM(block)
	servertest.Must(t, err)
	const handshake, keyUpdate, requested = 22, 24, 1
	message := []byte{keyUpdate, 0, 0, 1, requested, handshake}
	record := []byte{23, 3, 3, 0, byte(len(message) + aead.Overhead())}
	return aead.Seal(record, expand("iv", 12), message, record)
}

// While one goroutine posts, the reader makes TLS answer the peer: the bytes of both must not
// be mixed up, and none may be lost.
func TestKeyUpdateWhilePosting(t *testing.T) {
	for _, name := range []string{"TLS", "wrapped TLS"} {
		t.Run(name, func(t *testing.T) {
			p := newPosting(t, wires[name].dial, true)
			if suite := p.text.(*tls.Conn).ConnectionState().CipherSuite; suite != tls.TLS_AES_128_GCM_SHA256 {
				t.Skipf("the cipher is %s", tls.CipherSuiteName(suite))
			}
			text := servertest.Noise(512 << 10)
			half := len(text) / 2
			var all sync.WaitGroup
			all.Go(func() {
				// until the end of the connection
				for {
					if _, err := p.line.Read(make([]byte, 100)); err != nil {
						return
					}
				}
			})
			all.Go(func() { p.post(t, text) })
			got := make([]byte, half)
			_, err := io.ReadFull(p.text, got)
			servertest.Must(t, err)
			_, err = p.peer.Write(updateRequest(t, p.log.String()))
			servertest.Must(t, err)
			rest := make([]byte, len(text)-half)
			_, err = io.ReadFull(p.text, rest)
			servertest.Must(t, err)
			if !bytes.Equal(append(got, rest...), text) {
				t.Error("the peer has received something else")
			}
			_ = p.peer.Close()
			all.Wait()
		})
	}
}

// Messages that TLS itself writes are found, and are sent even if nothing else is posted.
func TestAnswersOfTLSAreUnsentText(t *testing.T) {
	p := newPosting(t, dialTCP, true)
	if suite := p.text.(*tls.Conn).ConnectionState().CipherSuite; suite != tls.TLS_AES_128_GCM_SHA256 {
		t.Skipf("the cipher is %s", tls.CipherSuiteName(suite))
	}
	if p.line.HasUnsent() {
		t.Error("something is unsent before")
	}
	_, err := p.peer.Write(updateRequest(t, p.log.String()))
	servertest.Must(t, err)
	servertest.Eventually(t, "the answer", func() bool {
		servertest.Must(t, p.line.Guard.LimitRead(time.Now().Add(servertest.Short)))
		if _, err := p.line.Read(make([]byte, 100)); !netio.IsTimeout(err) {
			t.Fatalf("got %v", err)
		}
		return p.line.HasUnsent()
	})
	if waits, err := p.line.Post(nil); waits || err != nil || p.line.HasUnsent() {
		t.Errorf("%v, %v, unsent: %v", waits, err, p.line.HasUnsent())
	}
	if waits, err := p.line.Post([]byte("with the new key")); waits || err != nil {
		t.Errorf("%v, %v", waits, err)
	}
	got := make([]byte, len("with the new key"))
	if _, err := io.ReadFull(p.text, got); err != nil || string(got) != "with the new key" {
		t.Errorf("%q, %v", got, err)
	}
}

// What TLS writes by itself has a limit if the peer takes nothing, and ends the connection then.
func TestAnswersOfTLSHaveALimit(t *testing.T) {
	p := newPosting(t, dialTCP, true)
	record := make([]byte, 15<<10)
	written := 0
	for err := error(nil); err == nil; written++ {
		if written > 2*maxUnsent/len(record) {
			t.Fatalf("%d records wait", written)
		}
		_, err = p.line.recordConn.Write(record)
	}
	if waits, err := p.line.Post([]byte("text")); err != errManyUnsent {
		t.Errorf("text after a lost record: %v, %v", waits, err)
	}
}

// A connection whose peer accepts nothing is closed at once, although a goroutine waits for
// it.
func TestCloseWhileFlushing(t *testing.T) {
	for name, w := range wires {
		t.Run(name, func(t *testing.T) {
			p := newPosting(t, w.dial, w.secure)
			if waits, err := p.line.Post(make([]byte, maxUnsent*3/4)); !waits || err != nil {
				t.Fatalf("a connection took all without a reader: %v, %v", waits, err)
			}
			flushed := make(chan error, 1)
			go func() { flushed <- p.line.Flush(servertest.Never) }()
			servertest.Eventually(t, "the start of the flush", func() bool {
				poster := p.line.async
				poster.mu.Lock()
				defer poster.mu.Unlock()
				return poster.flushing
			})
			servertest.Soon(t, "Close", func() { _ = p.line.Net.Close() })
			if err := servertest.Receive(t, "the end of the flush", flushed); err == nil {
				t.Error("all was flushed")
			}
		})
	}
}
