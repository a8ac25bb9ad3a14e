package h2load

import (
	"strings"
	"testing"
)

const said = `starting benchmark...
Main benchmark duration is started for thread #0.
Application protocol: h2c
Main benchmark duration is over for thread #0. Stopping all clients.

finished in 1.01s, 7035.50 req/s, 249.45KB/s
requests: 7035 total, 7675 started, 7035 done, 7035 succeeded, 0 failed, 0 errored, 0 timeout
status codes: 7163 2xx, 0 3xx, 0 4xx, 0 5xx
traffic: 249.45KB (255441) total, 31.54KB (32300) headers (space savings 94.43%), 89.31KB (91455) data
`

func TestParse(t *testing.T) {
	got, err := parse(said)
	if want := (result{requests: 7035, rate: 7035.5}); err != nil || got != want {
		t.Errorf("%+v, %v", got, err)
	}
	for _, change := range [][2]string{
		{"finished", "ended"}, {"requests:", "calls:"}, {"protocol: h2c", "protocol: http/1.1"}, {"7035 done", "0 done"},
		{"7035 succeeded", "7034 succeeded"}, {"0 failed", "1 failed"}, {"0 errored", "1 errored"}, {"0 timeout", "1 timeout"}, {"0 4xx", "5 4xx"},
	} {
		if got, err := parse(strings.Replace(said, change[0], change[1], 1)); err == nil {
			t.Errorf("with %q: %+v", change[1], got)
		}
	}
}
