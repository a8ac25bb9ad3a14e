package websocket_test

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/servertest"
	"github.com/valyala/fasthttp/internal/ws"
	"github.com/valyala/fasthttp/websocket"
)

// socketsFlag makes TestShutdownCutsNoMessage a load test:
//
//	go test ./websocket -run TestShutdownCutsNoMessage -v -args -sockets 9900
//
// Each socket needs two descriptors.
var socketsFlag = flag.Int("sockets", 0, "how many sockets TestShutdownCutsNoMessage opens on each engine, instead of 120")

const (
	// crowdSockets is how many sockets there are if the flag is not set.
	crowdSockets = 120
	// crowdLife limits the time of each client.
	crowdLife = 10 * servertest.Patience
	// crowdLarge is the size of the largest answers.
	crowdLarge = 100_000
)

var crowdText = servertest.SampleText(crowdLarge)

// TestShutdownCutsNoMessage shuts a server down whose sockets, half of each form, exchange messages
// all the time. Clients check the bytes that they get: whole messages, and then a Close frame with
// the code 1001, and nothing else.
func TestShutdownCutsNoMessage(t *testing.T) {
	t.Parallel()
	sockets := crowdSockets
	if *socketsFlag > 0 {
		sockets = *socketsFlag
	}
	forEachServerEngine(t, func(t *testing.T, start servertest.Starter[*fasthttp.Server]) {
		// on a busy machine everything may take long, TLS handshakes, too
		u := &websocket.Upgrader{CloseTimeout: crowdLife}
		h := &websocket.Handler{MaxQueue: -1, WriteTimeout: -1, OnMessage: func(s *websocket.Socket, m websocket.Message) {
			_ = s.Send(m.Type, crowdAnswer(m.Data))
		}}
		s := start(&fasthttp.Server{ReadTimeout: crowdLife, Handler: func(ctx *fasthttp.RequestCtx) {
			if string(ctx.Path()) == "/serve" {
				_ = u.Serve(ctx, h, nil)
				return
			}
			_ = u.Upgrade(ctx, answerCrowd)
		}})
		clients := &crowd{sockets: int64(sockets), start: make(chan struct{}), busy: make(chan struct{})}
		errs := make(chan error, sockets)
		var talking, all sync.WaitGroup
		talking.Add(sockets)
		opens := make(chan struct{}, 64)
		for i := range sockets {
			all.Go(func() {
				talks := sync.OnceFunc(talking.Done)
				defer talks()
				opens <- struct{}{}
				nc, err := s.Dialer()
				<-opens
				if err != nil {
					errs <- err
					return
				}
				defer nc.Close()
				_ = nc.SetDeadline(time.Now().Add(crowdLife))
				errs <- clients.talk(nc, []string{"/serve", "/upgrade"}[i%2], talks)
			})
		}
		talking.Wait()
		close(clients.start)
		gone := make(chan struct{})
		go func() {
			all.Wait()
			close(gone)
		}()
		select {
		case <-clients.busy:
		case <-gone:
			// they have failed, or their lives are over
		}
		began := time.Now()
		// the clients end after their lives at the latest, and so does this
		servertest.Must(t, s.S.Shutdown())
		took := time.Since(began)
		servertest.Receive(t, "the end of the clients", gone)
		close(errs)
		failed := 0
		for err := range errs {
			if err != nil {
				if failed++; failed <= 10 {
					t.Error(err)
				}
			}
		}
		t.Logf("%d sockets: %d messages of %d MiB; Shutdown took %v; %d Close frames with 1001, %d failures",
			sockets, clients.messages.Load(), clients.bytes.Load()>>20, took.Round(time.Millisecond), clients.closed.Load(), failed)
		if n := int(clients.closed.Load()); n != sockets {
			t.Errorf("%d sockets were closed with 1001, want %d", n, sockets)
		}
	})
}

// answerCrowd answers each message, in fragments.
func answerCrowd(c *websocket.Conn) {
	for {
		messageType, p, err := c.ReadMessage()
		if err != nil {
			return
		}
		w, err := c.NextWriter(messageType)
		if err != nil {
			return
		}
		_, err = w.Write(crowdAnswer(p))
		if errors.Join(err, w.Close()) != nil {
			return
		}
	}
}

// crowdAnswer returns the answer to a message, which is its size and anything else.
func crowdAnswer(p []byte) []byte {
	number, _, _ := bytes.Cut(p, []byte(" "))
	n, err := strconv.Atoi(string(number))
	if err != nil {
		return []byte("a message is malformed")
	}
	return crowdText[:n]
}

// crowd counts for all clients.
type crowd struct {
	sockets     int64
	start, busy chan struct{} // closed when all have begun, and when each has some messages on average

	messages, bytes, closed atomic.Int64
}

// talk opens a socket, and exchanges messages until the server closes it. It calls talks after the
// first message, and then waits for the others.
func (s *crowd) talk(nc net.Conn, path string, talks func()) error {
	r := bufio.NewReader(nc)
	if _, err := io.WriteString(nc, socketRequest(path)); err != nil {
		return err
	}
	resp, err := http.ReadResponse(r, nil)
	if err != nil || resp.StatusCode != http.StatusSwitchingProtocols {
		return fmt.Errorf("the opening handshake: %v, %v", resp, err)
	}
	for {
		n := rand.IntN(2000)
		if rand.IntN(20) == 0 {
			n = rand.IntN(crowdLarge)
		}
		message := fmt.Sprintf("%d %s", n, crowdText[:rand.IntN(1000)])
		sent := socketFrame(ws.Text, message)
		if half := rand.IntN(len(message)); n%3 == 0 {
			sent = ws.AppendFrame(nil, ws.Head{Opcode: ws.Text, Masked: true, Key: 1}, []byte(message[:half]))
			sent = ws.AppendFrame(sent, ws.Head{Opcode: ws.Continuation, Fin: true, Masked: true, Key: 2}, []byte(message[half:]))
		}
		if _, err := nc.Write(sent); err != nil {
			return fmt.Errorf("%s: sending: %w", path, err)
		}
		p, closed, err := readCrowdMessage(r)
		switch {
		case err != nil:
			return fmt.Errorf("%s: %w", path, err)
		case closed:
			s.closed.Add(1)
			if _, err := nc.Write(socketFrame(ws.Close, "\x03\xe9")); err != nil {
				return fmt.Errorf("%s: answering the Close frame: %w", path, err)
			}
			if rest, err := io.ReadAll(r); len(rest) > 0 || err != nil {
				return fmt.Errorf("%s: %d bytes after the Close frame, %w", path, len(rest), err)
			}
			return nil
		case !bytes.Equal(p, crowdText[:n]):
			return fmt.Errorf("%s: a message of %d bytes is wrong, want %d", path, len(p), n)
		}
		s.bytes.Add(int64(n))
		if s.messages.Add(1) == 4*s.sockets {
			close(s.busy)
		}
		talks()
		<-s.start
	}
}

// readCrowdMessage reads the frames of a text message, or a Close frame with the code 1001, instead
// of a message. Everything else is an error.
func readCrowdMessage(r *bufio.Reader) (message []byte, closed bool, err error) {
	for first := true; ; first = false {
		var head [2]byte
		if _, err := io.ReadFull(r, head[:]); err != nil {
			return nil, false, fmt.Errorf("the connection was cut, with %d bytes of a message: %w", len(message), err)
		}
		size := uint64(head[1])
		if size > 125 {
			var length [8]byte
			b := length[:2]
			if size == 127 {
				b = length[:]
			}
			if size > 127 {
				return nil, false, errors.New("a frame is masked")
			}
			if _, err := io.ReadFull(r, b); err != nil {
				return nil, false, fmt.Errorf("the connection was cut in a length: %w", err)
			}
			if size = uint64(binary.BigEndian.Uint16(b)); len(b) == 8 {
				size = binary.BigEndian.Uint64(b)
			}
		}
		if size > crowdLarge {
			return nil, false, fmt.Errorf("a frame of %d bytes", size)
		}
		payload := make([]byte, size)
		if _, err := io.ReadFull(r, payload); err != nil {
			return nil, false, fmt.Errorf("the connection was cut in a frame of %d bytes: %w", size, err)
		}
		switch {
		case head[0] == 0x88 && first && string(payload) == "\x03\xe9":
			return nil, true, nil
		case first && head[0]&0x7f == 0x01, !first && head[0]&0x7f == 0x00:
			if message = append(message, payload...); head[0]&0x80 != 0 {
				return message, false, nil
			}
		default:
			return nil, false, fmt.Errorf("a frame that begins with %x %.20q, after %d bytes of a message", head[0], payload, len(message))
		}
	}
}
