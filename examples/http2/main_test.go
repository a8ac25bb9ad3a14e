package main

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"golang.org/x/net/http2"

	"github.com/valyala/fasthttp/internal/servertest"
)

var program servertest.Program = func(ctx context.Context, stdout io.Writer) error {
	return run(ctx, "127.0.0.1:0", "127.0.0.1:0", stdout)
}

// start runs the program, and returns the addresses that it listens on.
func start(t *testing.T) (secure, plain string, p *servertest.RunningProgram) {
	t.Helper()
	p = program.Start(t)
	if len(p.Words) != 6 {
		t.Fatalf("the program says %q", p.Words)
	}
	return p.Words[3], p.Words[5], p
}

// speaks returns a net/http client that speaks only the versions that set selects.
func speaks(set func(p *http.Protocols)) *http.Client {
	p := new(http.Protocols)
	set(p)
	return &http.Client{Transport: &http.Transport{
		Protocols:       p,
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true},
	}}
}

func TestBothVersionsAreServedOnBothPorts(t *testing.T) {
	secure, plain, p := start(t)
	for _, c := range []struct {
		url  string
		set  func(p *http.Protocols)
		want string
	}{
		{"https://" + secure, func(p *http.Protocols) { p.SetHTTP1(true) }, "HTTP/1.1, TLS true"},
		{"https://" + secure, func(p *http.Protocols) { p.SetHTTP2(true) }, "HTTP/2.0, TLS true"},
		// the server prefers HTTP/2
		{"https://" + secure, func(p *http.Protocols) { p.SetHTTP1(true); p.SetHTTP2(true) }, "HTTP/2.0, TLS true"},
		{"http://" + plain, func(p *http.Protocols) { p.SetHTTP1(true) }, "HTTP/1.1, TLS false"},
		{"http://" + plain, func(p *http.Protocols) { p.SetUnencryptedHTTP2(true) }, "HTTP/2.0, TLS false"},
	} {
		client := speaks(c.set)
		for i := range 2 {
			resp, err := client.Get(c.url)
			if err != nil {
				t.Fatalf("%s: %v", c.want, err)
			}
			body, err := io.ReadAll(resp.Body)
			_ = resp.Body.Close()
			// the second request uses the connection of the first one
			want := fmt.Sprintf("Hello over %s, request %d of", c.want, i+1)
			if err != nil || !strings.HasPrefix(string(body), want) || !strings.HasPrefix(c.want, resp.Proto) {
				t.Errorf("got %q by %s, %v, want %q", body, resp.Proto, err, want)
			}
		}
		client.CloseIdleConnections()
	}
	p.End()
}

// The server announces its shutdown to an HTTP/2 client, although the connection is open.
func TestShutdownTellsClientsOfHTTP2(t *testing.T) {
	secure, _, p := start(t)
	c, err := tls.Dial("tcp", secure, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2", "http/1.1"}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if proto := c.ConnectionState().NegotiatedProtocol; proto != "h2" {
		t.Fatalf("the protocol is %q", proto)
	}
	if _, err := io.WriteString(c, http2.ClientPreface); err != nil {
		t.Fatal(err)
	}
	f := http2.NewFramer(c, c)
	if err := f.WriteSettings(); err != nil {
		t.Fatal(err)
	}
	streams := uint32(0)
	for {
		frame, err := f.ReadFrame()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		switch frame := frame.(type) {
		case *http2.SettingsFrame:
			if frame.IsAck() {
				// the server has read the request
				p.Cancel()
				continue
			}
			if n, ok := frame.Value(http2.SettingMaxConcurrentStreams); !ok || n != 100 {
				t.Errorf("the client may open %d streams", n)
			}
			if err := f.WriteSettingsAck(); err != nil {
				t.Fatal(err)
			}
		case *http2.PingFrame:
			if err := f.WritePing(true, frame.Data); err != nil {
				t.Fatal(err)
			}
		case *http2.GoAwayFrame:
			if frame.ErrCode != http2.ErrCodeNo {
				t.Errorf("the server leaves with %v", frame.ErrCode)
			}
			streams = frame.LastStreamID
		}
	}
	if streams != 0 {
		t.Errorf("the last GOAWAY has the stream %d", streams)
	}
	p.End()
}

func TestAddressesThatCannotBeUsed(t *testing.T) {
	for _, addrs := range [][2]string{{"127.0.0.1:none", "127.0.0.1:0"}, {"127.0.0.1:0", "127.0.0.1:none"}} {
		if err := run(t.Context(), addrs[0], addrs[1], io.Discard); err == nil {
			t.Errorf("%q are used", addrs)
		}
	}
}

// A signal may arrive before the server has begun.
func TestRunEndsAtOnce(t *testing.T) { program.EndsAtOnce(t) }
