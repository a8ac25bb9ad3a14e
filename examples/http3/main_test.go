package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/valyala/fasthttp/internal/servertest"
)

// wait is the time after which the test gives up.
const wait = 60 * time.Second

func TestOneAddressHasThreeVersions(t *testing.T) {
	p := servertest.Program(func(ctx context.Context, stdout io.Writer) error {
		return run(ctx, "127.0.0.1:0", stdout)
	}).Start(t)
	within, cancel := context.WithTimeout(t.Context(), wait)
	defer cancel()
	var out bytes.Buffer
	if err := get(within, "https://"+p.Addr(), &tls.Config{InsecureSkipVerify: true}, &out); err != nil {
		t.Fatal(err)
	}
	want := "HTTP/2.0: Hello over HTTP/2.0!\n" + strings.Repeat("HTTP/3.0: Hello over HTTP/3.0!\n", 2)
	if out.String() != want {
		t.Errorf("the client has printed\n%s", &out)
	}
	p.End()
}
