package wsload

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/valyala/fasthttp/bench/internal/serving"
)

func TestMain(m *testing.M) {
	Main()
	os.Exit(m.Run())
}

// server is a small WebSocket server that counts the acts of its clients.
type server struct {
	addr string
	// response replaces the response to a handshake, and answer that to a message, if they are
	// set. All methods of a server hold mu while they call it.
	response string
	answer   func(payload []byte) []byte
	pong     func(payload []byte) []byte
	ended    chan error // the reasons why connections ended

	mu       sync.Mutex
	members  []net.Conn
	conns    int
	messages int
	frames   int // of messages
	pings    int
	pongs    int
	bytes    int // payload of messages
}

func start(t *testing.T, s *server) *server {
	t.Helper()
	ln, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.addr, s.ended = ln.Addr().String(), make(chan error, 100)
	var all sync.WaitGroup
	all.Go(func() {
		for {
			nc, err := ln.Accept()
			if err != nil {
				return
			}
			all.Go(func() {
				defer nc.Close()
				err := s.serve(nc)
				select {
				case s.ended <- err:
				default:
				}
			})
		}
	})
	t.Cleanup(func() {
		_ = ln.Close()
		all.Wait()
	})
	return s
}

func frameOf(first byte, payload []byte) []byte {
	b := []byte{first, byte(len(payload))}
	switch n := len(payload); {
	case n >= 1<<16:
		b = binary.BigEndian.AppendUint64([]byte{first, 127}, uint64(n))
	case n >= 126:
		b = binary.BigEndian.AppendUint16([]byte{first, 126}, uint16(n))
	}
	return append(b, payload...)
}

func readFrame(in *bufio.Reader) (first byte, payload []byte, err error) {
	var head [2]byte
	if _, err := io.ReadFull(in, head[:]); err != nil {
		return 0, nil, err
	}
	size := uint64(head[1] &^ maskBit)
	wide := make([]byte, map[uint64]int{126: 2, 127: 8}[size])
	if _, err := io.ReadFull(in, wide); err != nil {
		return 0, nil, err
	}
	switch len(wide) {
	case 2:
		size = uint64(binary.BigEndian.Uint16(wide))
	case 8:
		size = binary.BigEndian.Uint64(wide)
	}
	var mask [4]byte
	if _, err := io.ReadFull(in, mask[:]); err != nil {
		return 0, nil, err
	}
	if head[1]&maskBit == 0 || mask == [4]byte{} {
		return 0, nil, errors.New("a frame is not masked")
	}
	payload = make([]byte, size)
	_, err = io.ReadFull(in, payload)
	for i := range payload {
		payload[i] ^= mask[i%4]
	}
	return head[0], payload, err
}

func (s *server) serve(nc net.Conn) error {
	in := bufio.NewReader(nc)
	r, err := http.ReadRequest(in)
	if err != nil {
		return err
	}
	response := s.response
	if response == "" {
		response = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: " + accept + "\r\n\r\n"
	}
	s.mu.Lock()
	s.conns++
	s.members = append(s.members, nc)
	s.mu.Unlock()
	if _, err := io.WriteString(nc, response); err != nil {
		return err
	}
	var whole []byte
	for {
		first, payload, err := readFrame(in)
		if err != nil {
			return err
		}
		if err := s.take(nc, r.URL.Path, first, payload, &whole); err != nil {
			return err
		}
	}
}

// take handles a frame. whole has the fragments so far.
func (s *server) take(nc net.Conn, path string, first byte, payload []byte, whole *[]byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch first & 0x0f {
	case opPing:
		s.pings++
		answer := frameOf(finBit|opPong, payload)
		if s.pong != nil {
			answer = s.pong(payload)
		}
		_, err := nc.Write(answer)
		return err
	case opPong:
		s.pongs++
		return nil
	}
	s.frames++
	*whole = append(*whole, payload...)
	if first&finBit == 0 {
		return nil
	}
	message := slices.Clone(*whole)
	*whole = (*whole)[:0]
	s.messages++
	s.bytes += len(message)
	answer := frameOf(finBit|opBinary, message)
	if s.answer != nil {
		if answer = s.answer(message); answer == nil {
			return errors.New("no answer")
		}
	}
	to := []net.Conn{nc}
	if path == serving.GroupPath {
		to = s.members
	}
	for _, nc := range to {
		if _, err := nc.Write(answer); err != nil {
			return err
		}
	}
	return nil
}

// patience is how long a test waits for an event.
const patience = time.Minute
