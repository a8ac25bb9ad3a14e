package wrk

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/valyala/fasthttp/bench/internal/rig"
)

// ErrMissing is returned if wrk is not installed.
var ErrMissing = errors.New("the load generator wrk is not installed; on Debian and Ubuntu: sudo apt-get install wrk")

// Load is a load of wrk.
type Load struct {
	URL     string
	Conns   int
	Seconds int
	Script  string // "" if it only asks for the URL
	Field   string // a field of the requests, or ""
	Refused bool   // the responses have a status of 400 or more
}

// spareTime is how much longer than requested wrk may take before it is killed: it waits for
// connections that a server does not answer.
const spareTime = time.Minute

// Run puts a load on a server. temp is a folder for the script. A result that does not measure
// the server's speed is an error.
func Run(ctx context.Context, place rig.Place, temp string, l Load) (r Result, err error) {
	program, err := exec.LookPath("wrk")
	if err != nil {
		return r, ErrMissing
	}
	ctx, cancel := context.WithTimeout(ctx, time.Duration(l.Seconds)*time.Second+spareTime)
	defer cancel()
	threads := 1
	if place.CPU < 0 {
		// The server needs the other half of the processors.
		threads = min(max(1, runtime.NumCPU()/2), l.Conns)
	}
	args := []string{fmt.Sprintf("-t%d", threads), fmt.Sprintf("-c%d", l.Conns), fmt.Sprintf("-d%ds", l.Seconds), "--latency", "--timeout", "10s"}
	if l.Field != "" {
		args = append(args, "-H", l.Field)
	}
	if l.Script != "" {
		file := filepath.Join(temp, "load.lua")
		if err := os.WriteFile(file, []byte(l.Script), 0o600); err != nil {
			return r, err
		}
		args = append(args, "-s", file)
	}
	line := place.Command(program, append(args, l.URL)...)
	cmd := exec.CommandContext(ctx, line[0], line[1:]...)
	text, err := cmd.CombinedOutput()
	if err = errors.Join(err, ctx.Err()); err == nil {
		r, err = Parse(string(text))
	}
	if err != nil {
		return r, fmt.Errorf("wrk: %w: %s", err, strings.TrimSpace(string(text)))
	}
	r.CPU = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	return r, l.accept(r)
}

func (l Load) accept(r Result) error {
	refused := 0
	if l.Refused {
		refused = r.Requests
	}
	switch {
	case r.Requests == 0:
		return errors.New("no request was answered")
	case r.Refused != refused:
		return fmt.Errorf("%d of %d requests were refused", r.Refused, r.Requests)
	case r.Errors > r.Requests/100:
		return fmt.Errorf("%d socket errors at %d requests", r.Errors, r.Requests)
	}
	return nil
}
