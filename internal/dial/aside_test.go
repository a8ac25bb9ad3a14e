package dial

import (
	"errors"
	"net"
	"runtime"
	"testing"
	"time"

	"github.com/valyala/fasthttp/internal/servertest"
)

func TestAside(t *testing.T) {
	a, b := net.Pipe()
	defer a.Close()
	defer b.Close()
	refused := errors.New("refused")
	proceed, late := make(chan struct{}), make(chan net.Conn, 1)
	expired, canceled := make(chan time.Time, 1), make(chan struct{})
	expired <- time.Now()
	close(canceled)
	caught := func(value any) any { return value.(string) + ", caught" }
	for name, tt := range map[string]struct {
		dial     func() (net.Conn, error)
		expired  <-chan time.Time
		canceled <-chan struct{}
		late     bool
		err      error
		fault    any
	}{
		"connection": {dial: func() (net.Conn, error) { return a, nil }},
		"error":      {dial: func() (net.Conn, error) { return nil, refused }, err: refused},
		"panic":      {dial: func() (net.Conn, error) { panic("oops") }, fault: "oops, caught"},
		"Goexit":     {dial: func() (net.Conn, error) { runtime.Goexit(); return a, nil }, err: errGoexit},
		"expired":    {dial: func() (net.Conn, error) { <-proceed; return a, nil }, expired: expired, late: true},
		"canceled":   {dial: func() (net.Conn, error) { <-proceed; return a, nil }, canceled: canceled, late: true},
	} {
		// the late connection may panic, too
		aside := Uninterruptible{Dial: tt.dial, Late: func(c net.Conn, _ error) { late <- c; panic("oops") }, WrapPanic: caught}
		func() {
			defer func() {
				if p := recover(); p != tt.fault {
					t.Errorf("%s: panic with %v", name, p)
				}
			}()
			conn, isLate, err := aside.Run(tt.expired, tt.canceled)
			if isLate != tt.late || err != tt.err || (conn != nil) != (err == nil && !isLate) {
				t.Errorf("%s: %v, %v, %v", name, conn, isLate, err)
			}
		}()
		if tt.late {
			proceed <- struct{}{}
			if c := servertest.Receive(t, "the late connection", late); c != a {
				t.Errorf("%s: the late connection is %v", name, c)
			}
		}
	}
}
