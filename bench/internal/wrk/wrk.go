// Package wrk reads what the load generator wrk prints, and has the scripts
// that it is driven by.
package wrk

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Result is what a run of "wrk --latency" came to.
type Result struct {
	Requests int           // answered
	Duration time.Duration // rounded by wrk to hundredths of a second
	Rate     float64       // requests a second
	P50, P99 time.Duration

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

// Parse reads the output of wrk, and of a script that PipelineScript returned.
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

// parseTime understands times such as 12.34us. time.ParseDuration does as well,
// and more: of its units, wrk has these only.
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

// PipelineScript returns a script that sends n requests at a time on each of
// conns connections. Latencies are then those of whole batches.
//
// wrk corrects latencies for requests that a slow answer kept from being sent:
// with one of 10 ms while a connection has an answer every 2 ms, it counts 8, 6
// and 4 ms as well. It takes the pace of single requests for that, but measures
// batches, so that every batch seems late and the percentiles are of figures
// that are mostly made up; some are 0. The script takes the correction back.
// As the number C(x) of corrected latencies of x is the number of true ones of
// x, x+pace, x+2·pace and so on, that of true ones is C(x)-C(x+pace), and there
// are as many true ones over x as corrected ones from x to x+pace.
func PipelineScript(n, conns int) string {
	return fmt.Sprintf(`local size, connections = %d, %d
local batch
function init(args)
  local requests = {}
  for i = 1, size do
    requests[i] = wrk.format()
  end
  batch = table.concat(requests)
end
function request()
  return batch
end
function done(summary, latency, requests)
  local rounds = math.floor(summary.requests / connections)
  if rounds == 0 then
    return
  end
  local pace = math.floor(summary.duration / rounds)
  -- the percentage of corrected latencies that are x at most
  local function share(x)
    local low, high = 0, 100
    for _ = 1, 50 do
      local middle = (low + high) / 2
      local value = latency:percentile(middle)
      if value > 0 and value <= x then
        low = middle
      else
        high = middle
      end
    end
    return low
  end
  local function over(x)
    return share(x + pace) - share(x)
  end
  -- nothing up to pace was corrected, nor is it found that way
  local least = math.max(latency.min - 1, pace)
  local all = over(least)
  local function percentile(p)
    local low, high = least, math.max(latency.max, least)
    while high - low > 1 do
      local middle = math.floor((low + high) / 2)
      if over(middle) <= all * (1 - p / 100) then
        high = middle
      else
        low = middle
      end
    end
    return high
  end
  print(string.format("Latency of batches: 50%%%% %%dus, 99%%%% %%dus", percentile(50), percentile(99)))
end
`, n, conns)
}

// ChurnScript returns a script that asks the server to close the connection
// with every n-th request, after which wrk connects anew. Scripts are not told
// what connection a request is for, so it is every n-th of all connections of a
// thread: a connection carries n requests on average.
func ChurnScript(n int) string {
	return fmt.Sprintf(`local count, stay, leave = 0, nil, nil
function init(args)
  stay = wrk.format()
  leave = wrk.format(nil, nil, {["Host"] = wrk.headers["Host"], ["Connection"] = "close"})
end
function request()
  count = count + 1
  if count == %d then
    count = 0
    return leave
  end
  return stay
end
`, n)
}
