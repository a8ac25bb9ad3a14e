package h2load

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"time"
)

const (
	// warmUp is how many requests each stream has before the measurement.
	warmUp = 20
	// spareTime is how much longer than requested h2load may take before it is killed.
	spareTime = time.Minute
)

// result is h2load's result of a run.
type result struct {
	requests int
	rate     float64 // a second
}

// run puts a load on a server. howLong are the arguments for its duration.
func (s *session) run(ctx context.Context, l load, addr string, howLong ...string) (result, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Duration(s.seconds)*time.Second+spareTime)
	defer cancel()
	line := s.command(l, addr, howLong...)
	said, err := exec.CommandContext(ctx, line[0], line[1:]...).CombinedOutput()
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return result{}, fmt.Errorf("h2load: %w: %s", err, strings.TrimSpace(string(said)))
	}
	r, err := parse(string(said))
	if err != nil {
		return result{}, fmt.Errorf("%w: %s", err, strings.TrimSpace(string(said)))
	}
	return r, nil
}

// command returns the command line of h2load. The cipher is the one that crypto/tls chooses.
func (s *session) command(l load, addr string, howLong ...string) []string {
	args := append([]string{"-t", "1", "-c", strconv.Itoa(l.conns), "-m", strconv.Itoa(l.streams)}, howLong...)
	if s.identity == nil {
		return s.clientPlace.Command(s.h2load, append(args, "http://"+addr+"/")...)
	}
	args = append(args, "--npn-list=h2", "--tls13-ciphers=TLS_AES_128_GCM_SHA256")
	return s.clientPlace.Command(s.h2load, append(args, "https://"+addr+"/")...)
}

var (
	finishedLine = regexp.MustCompile(`(?m)^finished in \S+, ([0-9.]+) req/s`)
	requestsLine = regexp.MustCompile(`(?m)^requests: \d+ total, \d+ started, (\d+) done, (\d+) succeeded, (\d+) failed, (\d+) errored, (\d+) timeout`)
	statusLine   = regexp.MustCompile(`(?m)^status codes: \d+ 2xx, 0 3xx, 0 4xx, 0 5xx$`)
	protocolLine = regexp.MustCompile(`(?m)^Application protocol: h2c?$`)
)

// parse parses the output of h2load, and returns an error for a run with failed requests.
func parse(text string) (result, error) {
	finished, requests := finishedLine.FindStringSubmatch(text), requestsLine.FindStringSubmatch(text)
	if finished == nil || requests == nil {
		return result{}, errors.New("h2load: no figures")
	}
	if !protocolLine.MatchString(text) {
		return result{}, errors.New("h2load: the protocol is not HTTP/2")
	}
	done, err := strconv.Atoi(requests[1])
	if err != nil {
		return result{}, err
	}
	rate, err := strconv.ParseFloat(finished[1], 64)
	if err != nil {
		return result{}, err
	}
	if done == 0 || requests[2] != requests[1] || requests[3] != "0" || requests[4] != "0" || requests[5] != "0" || !statusLine.MatchString(text) {
		return result{}, fmt.Errorf("h2load: requests failed: %s", requests[0])
	}
	return result{requests: done, rate: rate}, nil
}
