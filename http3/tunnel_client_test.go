package http3

import (
	"context"
	"errors"
	"io"
	"net"
	"syscall"
	"testing"
	"time"

	"github.com/quic-go/quic-go"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/http3/internal/wire"
	"github.com/valyala/fasthttp/internal/policytest"
	"github.com/valyala/fasthttp/internal/servertest"
)

// ReadTimeout and WriteTimeout of a client limit the call that opens a tunnel, not the tunnel.
func TestTimeoutsOfClientsDoNotApplyToTunnels(t *testing.T) {
	_, addr := run(t, policytest.TunnelsTo(func(nc net.Conn) {
		// as long as both limits take to expire
		_ = nc.SetReadDeadline(time.Now().Add(3 * servertest.Short))
		b := make([]byte, 1)
		if _, err := nc.Read(b); err == nil || err == io.EOF {
			t.Errorf("a read: %v", err)
		}
		_ = nc.SetReadDeadline(time.Time{})
		_, _ = nc.Write([]byte("a"))
		_, _ = io.Copy(nc, nc)
	}))
	c, _ := newClient(t, func(c *fasthttp.Client, _ *Transport) {
		c.ReadTimeout, c.WriteTimeout = servertest.Short, servertest.Short
	})
	var nc net.Conn
	for until := time.Now().Add(wait); nc == nil; {
		resp, err := call(t, c, "https://"+addr+"/", connectTo("a"))
		if errors.Is(err, fasthttp.ErrTimeout) && time.Now().Before(until) {
			continue // the machine is slow
		}
		if err != nil {
			t.Fatal(err)
		}
		nc = resp.BodyStream().(net.Conn)
	}
	b := make([]byte, 1)
	if _, err := io.ReadFull(nc, b); err != nil || b[0] != 'a' {
		t.Errorf("a read after the limit: %q, %v", b, err)
	}
	if _, err := nc.Write([]byte("b")); err != nil {
		t.Errorf("a write after the limit: %v", err)
	}
	if _, err := io.ReadFull(nc, b); err != nil || b[0] != 'b' {
		t.Errorf("the answer: %q, %v", b, err)
	}
	servertest.Must(t, nc.Close())
}

// Bytes that were written before Close arrive, although the connection takes no more requests and has no other.
func TestTheLastTunnelIsClosedAfterItsBytes(t *testing.T) {
	text := servertest.SampleText(100_000)
	received := make(chan error, 1)
	_, addr := run(t, policytest.TunnelsTo(func(nc net.Conn) {
		b, err := io.ReadAll(nc)
		if err == nil && string(b) != string(text) {
			err = errors.New("other bytes")
		}
		received <- err
	}))
	c, transport := newClient(t)
	for name, end := range map[string]func(net.Conn){
		"Connection: close":    func(net.Conn) {},
		"CloseIdleConnections": func(net.Conn) { transport.CloseIdleConnections() },
	} {
		for range 20 {
			resp, err := call(t, c, "https://"+addr+"/", func(req *fasthttp.Request, resp *fasthttp.Response) {
				connectTo("a")(req, resp)
				if name == "Connection: close" {
					req.SetConnectionClose()
				}
			})
			if err != nil {
				t.Fatal(err)
			}
			nc := resp.BodyStream().(net.Conn)
			if _, err := nc.Write(text); err != nil {
				t.Fatal(err)
			}
			servertest.Must(t, nc.Close())
			end(nc)
			if err := servertest.Receive(t, "the bytes", received); err != nil {
				t.Errorf("%s: %v", name, err)
				break
			}
		}
	}
}

// A server resets a tunnel, and its STOP_SENDING does not arrive: both directions have ended nevertheless,
// and the server gets a reset.
func TestATunnelThatIsResetTakesNoMoreBytes(t *testing.T) {
	begin := append([]byte{wire.StreamControl}, (&wire.Settings{ExtendedConnect: true}).Append(nil)...)
	opened, ended := make(chan struct{}, 1), make(chan error, 1)
	addr := rawServer(t, begin, func(q *quic.Conn) {
		s, err := q.AcceptStream(context.Background())
		if err != nil {
			return
		}
		_, _ = s.Write(status("200"))
		select {
		case <-opened:
		case <-q.Context().Done():
			return
		}
		s.CancelWrite(quic.StreamErrorCode(wire.ConnectError))
		_, err = io.Copy(io.Discard, s)
		ended <- err
	})
	c, _ := newClient(t)
	nc := openTunnel(t, c, addr)
	opened <- struct{}{}
	if _, err := nc.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("a read after the reset: %v", err)
	}
	if _, err := nc.Write([]byte("a")); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("a write after the reset: %v", err)
	}
	end := servertest.Receive(t, "the end", ended)
	if e, ok := errors.AsType[*quic.StreamError](end); !ok || !e.Remote {
		t.Errorf("the server has got %v", end)
	}
}
