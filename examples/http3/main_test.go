package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"
)

// wait is the time after which the test gives up.
const wait = 60 * time.Second

func TestOneAddressHasThreeVersions(t *testing.T) {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	r, w := io.Pipe()
	served := make(chan error, 1)
	go func() {
		err := run(ctx, "127.0.0.1:0", w)
		_ = w.CloseWithError(fmt.Errorf("the server has ended: %w", err))
		served <- err
	}()
	var addr string
	if _, err := fmt.Fscanf(r, "http3 listens on %s\n", &addr); err != nil {
		t.Fatal(err)
	}
	within, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	var out bytes.Buffer
	if err := get(within, "https://"+addr, &tls.Config{InsecureSkipVerify: true}, &out); err != nil {
		t.Fatal(err)
	}
	want := "HTTP/2.0: Hello over HTTP/2.0!\n" + strings.Repeat("HTTP/3.0: Hello over HTTP/3.0!\n", 2)
	if out.String() != want {
		t.Errorf("the client has printed\n%s", &out)
	}
	stop()
	select {
	case err := <-served:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(wait):
		t.Error("the server does not end")
	}
}
