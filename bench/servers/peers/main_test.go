package main

import (
	"testing"
	"time"
)

func TestArguments(t *testing.T) {
	got, err := parse([]string{"nbio", "127.0.0.1:80", "10", "cert.pem", "key.pem"})
	if want := (job{"127.0.0.1:80", 10 * time.Millisecond, "cert.pem", "key.pem"}); err != nil || got != want {
		t.Errorf("%+v, %v, want %+v", got, err, want)
	}
	got, err = parse([]string{"hertz", "127.0.0.1:80", "0"})
	if want := (job{addr: "127.0.0.1:80"}); err != nil || got != want {
		t.Errorf("%+v, %v, want %+v", got, err, want)
	}
	for _, args := range [][]string{nil, {"hertz", "a:1"}, {"gin", "a:1", "0"}, {"hertz", "a:1", "x"}, {"hertz", "a:1", "0", "cert.pem"}} {
		if _, err := parse(args); err == nil {
			t.Errorf("%q is accepted", args)
		}
	}
}
