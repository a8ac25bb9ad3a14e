//go:build unix

package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/quic-go/qpack"
	"github.com/quic-go/quic-go"

	"github.com/valyala/fasthttp/http3"
	ownqpack "github.com/valyala/fasthttp/http3/internal/qpack"
	"github.com/valyala/fasthttp/http3/internal/wire"
	"github.com/valyala/fasthttp/internal/hpack"
)

// server is the process of a server, with a connection to it.
type server struct {
	name string
	addr string
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  *bufio.Scanner
	c    *quic.Conn

	decoder *decoder // of the last connection, or nil
}

func start(name string) (*server, error) {
	args := []string{"-serve", name, "-table", fmt.Sprint(*table)}
	if *profile != "" {
		args = append(args, "-profile", *profile)
	}
	s := &server{name: name, cmd: exec.Command(os.Args[0], args...)}
	s.cmd.Stderr = os.Stderr
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if s.in, err = s.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	if s.out = bufio.NewScanner(out); !s.out.Scan() {
		return nil, fmt.Errorf("the server %s has not started", name)
	}
	s.addr = s.out.Text()
	s.c, err = s.dial()
	return s, err
}

func (s *server) stop() {
	_ = s.c.CloseWithError(0, "")
	_ = s.in.Close()
	_ = s.cmd.Wait()
}

// ask sends a line to the server, and returns its usage.
func (s *server) ask(line string) (u used, err error) {
	if _, err = io.WriteString(s.in, line+"\n"); err != nil {
		return u, err
	}
	if !s.out.Scan() {
		return u, errors.New("the server has ended")
	}
	return u, json.Unmarshal(s.out.Bytes(), &u)
}

func (s *server) dial() (*quic.Conn, error) {
	config := &tls.Config{InsecureSkipVerify: true, NextProtos: []string{http3.NextProto}}
	c, err := quic.DialAddr(context.Background(), s.addr, config, &quic.Config{KeepAlivePeriod: 5 * time.Second})
	if err != nil || s.name == "transport" {
		return c, err
	}
	control, err := c.OpenUniStream()
	if err != nil {
		return nil, err
	}
	settings := wire.Settings{TableCapacity: uint64(*table)}
	if _, err = control.Write(settings.Append([]byte{wire.StreamControl})); err != nil || *table == 0 || s.name != "fasthttp" {
		return c, err
	}
	s.decoder, err = newDecoder(c)
	return c, err
}

// decoder acknowledges entries and sections of a server.
type decoder struct {
	mu      sync.Mutex // guards the fields below
	acks    *quic.SendStream
	entries ownqpack.Decoder
}

func newDecoder(c *quic.Conn) (*decoder, error) {
	acks, err := c.OpenUniStream()
	if err != nil {
		return nil, err
	}
	d := &decoder{acks: acks}
	d.entries.Init(uint32(*table), false, nil)
	go func() {
		for {
			s, err := c.AcceptUniStream(context.Background())
			if err != nil {
				return
			}
			go d.read(s)
		}
	}()
	_, err = acks.Write([]byte{wire.StreamDecoder})
	return d, err
}

// read reads a stream of the server.
func (d *decoder) read(s *quic.ReceiveStream) {
	b := make([]byte, 1000)
	n, err := s.Read(b[:1])
	for encodes := n > 0 && b[0] == wire.StreamEncoder; encodes && err == nil; {
		n, err = s.Read(b)
		d.mu.Lock()
		if d.entries.Feed(b[:n]) == nil {
			_, _ = d.acks.Write(d.entries.AppendIncrement(nil))
		}
		d.mu.Unlock()
	}
}

// note acknowledges the section at the beginning of a response, if it uses the table.
func (d *decoder) note(s *quic.Stream, b []byte) {
	const smallHead = 3 // of a HEADERS frame
	at := smallHead - 1
	if len(b) > 1 && b[1] >= 0x40 {
		at = smallHead
	}
	if d == nil || len(b) <= at || b[at] == 0 {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	_, _ = d.acks.Write(hpack.AppendInt(nil, 0x80, 7, uint64(s.StreamID())))
}

// request returns the bytes of a request.
func request(method, path string, content []byte) []byte {
	fields := []qpack.HeaderField{
		{Name: ":method", Value: method}, {Name: ":scheme", Value: "https"},
		{Name: ":authority", Value: "localhost:443"}, {Name: ":path", Value: path},
		{Name: "user-agent", Value: "bench"}, {Name: "accept", Value: "*/*"},
	}
	if content != nil {
		fields = append(fields, qpack.HeaderField{Name: "content-length", Value: strconv.Itoa(len(content))})
	}
	var b bytes.Buffer
	encoder := qpack.NewEncoder(&b)
	for _, f := range fields {
		if err := encoder.WriteField(f); err != nil {
			panic(err)
		}
	}
	section := b.Bytes()
	all := append(wire.AppendFrame(nil, wire.TypeHeaders, len(section)), section...)
	if content != nil {
		all = append(wire.AppendFrame(all, wire.TypeData, len(content)), content...)
	}
	return all
}

// exchange sends a request, and returns the number of bytes of its response.
func exchange(c *quic.Conn, d *decoder, request, room []byte) (total int, err error) {
	s, err := c.OpenStreamSync(context.Background())
	if err != nil {
		return 0, err
	}
	if _, err := s.Write(request); err != nil {
		return 0, err
	}
	// it fails if the server did not wait for the end of the request
	_ = s.Close()
	for {
		n, err := s.Read(room)
		if total == 0 {
			d.note(s, room[:n])
		}
		total += n
		if err == io.EOF {
			return total, nil
		}
		if err != nil {
			return total, err
		}
	}
}

// cost is the cost of a request: microseconds, allocations, and their bytes.
type cost struct {
	cpu, mallocs, bytes float64
	response            int
}

// measure sends requests for a while.
func (s *server) measure(l load) (c cost, err error) {
	if c.response, err = exchange(s.c, s.decoder, l.request, make([]byte, 4096)); err != nil {
		return c, err
	}
	before, err := s.ask("now")
	if err != nil {
		return c, err
	}
	var total atomic.Int64
	var all sync.WaitGroup
	failed := make([]error, l.at)
	until := time.Now().Add(*period)
	for i := range l.at {
		all.Go(func() {
			room := make([]byte, 32<<10)
			for time.Now().Before(until) && failed[i] == nil {
				_, failed[i] = exchange(s.c, s.decoder, l.request, room)
				total.Add(1)
			}
		})
	}
	all.Wait()
	after, err := s.ask("now")
	if err := errors.Join(append(failed, err)...); err != nil {
		return c, err
	}
	n := float64(total.Load())
	c.cpu = float64((after.CPU - before.CPU).Nanoseconds()) / 1000 / n
	c.mallocs, c.bytes = float64(after.Mallocs-before.Mallocs)/n, float64(after.Bytes-before.Bytes)/n
	return c, nil
}

// idleMemory returns the memory of an idle connection, after a request.
func (s *server) idleMemory(n int) (float64, error) {
	before, err := s.ask("live")
	if err != nil {
		return 0, err
	}
	var conns []*quic.Conn
	defer func() {
		for _, c := range conns {
			_ = c.CloseWithError(0, "")
		}
	}()
	small := request("GET", "/", nil)
	for range n {
		c, err := s.dial()
		if err != nil {
			return 0, err
		}
		conns = append(conns, c)
		if _, err := exchange(c, s.decoder, small, make([]byte, 4096)); err != nil {
			return 0, err
		}
	}
	after, err := s.ask("live")
	return float64(int64(after.Live-before.Live)) / float64(n), err
}
