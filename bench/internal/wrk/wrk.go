// Package wrk runs the load generator wrk, reads its output, and generates its scripts.
package wrk

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Result is the result of a run of "wrk --latency".
type Result struct {
	Requests int           // answered
	Duration time.Duration // rounded by wrk to hundredths of a second
	Rate     float64       // requests a second
	P50, P99 time.Duration
	CPU      time.Duration // of wrk

	// Errors is the number of failed connects, reads and writes and of
	// requests without an answer in time.
	Errors int
	// Refused is the number of responses with a status of 400 or more.
	Refused int
}

var (
	requestsLine   = regexp.MustCompile(`(?m)^\s*(\d+) requests in ([0-9.]+[a-z]+),`)
	rateLine       = regexp.MustCompile(`(?m)^Requests/sec:\s*([0-9.]+)\s*$`)
	percentileLine = regexp.MustCompile(`(?m)^\s*(50|99)%\s+([0-9.]+[a-z]+)\s*$`)
	batchesLine    = regexp.MustCompile(`(?m)^Latency of batches: 50% ([0-9.]+[a-z]+), 99% ([0-9.]+[a-z]+)\s*$`)
	errorsLine     = regexp.MustCompile(`(?m)^\s*Socket errors: connect (\d+), read (\d+), write (\d+), timeout (\d+)\s*$`)
	refusedLine    = regexp.MustCompile(`(?m)^\s*Non-2xx or 3xx responses: (\d+)\s*$`)
)

// Parse reads the output of wrk, and of a script of batches.
func Parse(text string) (Result, error) {
	var r Result
	m := requestsLine.FindStringSubmatch(text)
	if m == nil {
		return r, errors.New("wrk: the output has no number of requests")
	}
	var err error
	if r.Requests, err = strconv.Atoi(m[1]); err != nil {
		return r, fmt.Errorf("wrk: number of requests: %w", err)
	}
	if r.Duration, err = parseTime(m[2]); err != nil {
		return r, err
	}
	if m = rateLine.FindStringSubmatch(text); m == nil {
		return r, errors.New("wrk: the output has no rate")
	}
	if r.Rate, err = strconv.ParseFloat(m[1], 64); err != nil {
		return r, fmt.Errorf("wrk: rate: %w", err)
	}
	found := 0
	for _, m := range percentileLine.FindAllStringSubmatch(text, -1) {
		value, err := parseTime(m[2])
		if err != nil {
			return r, err
		}
		if m[1] == "50" {
			r.P50, found = value, found|1
		} else {
			r.P99, found = value, found|2
		}
	}
	if found != 3 {
		return r, errors.New("wrk: the output lacks percentiles of the latency")
	}
	if m = batchesLine.FindStringSubmatch(text); m != nil {
		if r.P50, err = parseTime(m[1]); err != nil {
			return r, err
		}
		if r.P99, err = parseTime(m[2]); err != nil {
			return r, err
		}
	}
	if m = errorsLine.FindStringSubmatch(text); m != nil {
		for _, number := range m[1:] {
			n, err := strconv.Atoi(number)
			if err != nil {
				return r, fmt.Errorf("wrk: socket errors: %w", err)
			}
			r.Errors += n
		}
	}
	if m = refusedLine.FindStringSubmatch(text); m != nil {
		if r.Refused, err = strconv.Atoi(m[1]); err != nil {
			return r, fmt.Errorf("wrk: refused requests: %w", err)
		}
	}
	return r, nil
}

// parseTime parses times such as 12.34us. It accepts only wrk's units, of those that
// time.ParseDuration accepts.
func parseTime(text string) (time.Duration, error) {
	unit := strings.TrimLeft(text, "0123456789.")
	switch unit {
	case "us", "ms", "s", "m", "h":
		if d, err := time.ParseDuration(text); err == nil {
			return d, nil
		}
	}
	return 0, fmt.Errorf("wrk: %q is no time", text)
}
