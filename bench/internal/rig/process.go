package rig

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/valyala/fasthttp/bench/internal/procfs"
	"github.com/valyala/fasthttp/bench/internal/serving"
)

// Settings are the settings with which a server is started.
type Settings struct {
	Addr      string // "" for a free port of 127.0.0.1
	Mode      serving.Mode
	ReusePort bool
	Place     Place
	Procs     int      // GOMAXPROCS
	Args      []string // more of the command line
	// Wait is how long handlers wait: WaitPath of mode Mixed, or any path of a server outside
	// this module.
	Wait    time.Duration
	Backend string // address of the server to forward to
	// Identity is the server's certificate for TLS, or nil for plain HTTP.
	Identity *Identity
	// HTTP2 enables HTTP/2, too. Servers that are neither nginx nor part of this module always
	// speak it.
	HTTP2 bool
}

// Process is a running server. It ends with Stop, with its context, and with the program that
// started it, however that ends.
type Process struct {
	Addr    string
	child   *Child
	foreign bool // ends only if it is killed
}

// Start runs the server and returns when it listens.
func (s *Server) Start(ctx context.Context, settings Settings) (*Process, error) {
	if s.args != nil {
		return s.startForeign(ctx, settings)
	}
	addr := settings.Addr
	if addr == "" {
		addr = "127.0.0.1:0"
	}
	args := []string{"-addr", addr, "-mode", string(settings.Mode)}
	if settings.ReusePort {
		args = append(args, "-reuseport")
	}
	if settings.HTTP2 {
		args = append(args, "-"+serving.HTTP2Flag)
	}
	if id := settings.Identity; id != nil {
		args = append(args, "-"+serving.CertFlag, id.Cert, "-"+serving.KeyFlag, id.Key)
	}
	if settings.Wait > 0 {
		args = append(args, "-"+serving.WaitFlag, settings.Wait.String())
	}
	if settings.Backend != "" {
		args = append(args, "-"+serving.BackendFlag, settings.Backend)
	}
	args = append(append(args, s.flags...), settings.Args...)
	env := append([]string{"GOMAXPROCS=" + strconv.Itoa(settings.Procs)}, s.env...)
	child, err := StartChild(ctx, env, settings.Place.Command(s.binary, args...))
	if err != nil {
		return nil, fmt.Errorf("starting %s: %w", s.Name, err)
	}
	line, err := child.Line(ctx)
	if err == nil {
		if addr, ok := strings.CutPrefix(line, serving.ReadyWord+" "); ok {
			return &Process{Addr: addr, child: child}, nil
		}
		err = fmt.Errorf("it says %q", line)
	}
	return nil, errors.Join(fmt.Errorf("starting %s: %w", s.Name, err), child.Stop())
}

// CPU returns the processor time that the server has used so far. It waits briefly for the
// server to finish the rest of its work.
func (p *Process) CPU() (time.Duration, error) {
	const step, steps = 30 * time.Millisecond, 30
	before := time.Duration(-1)
	for range steps {
		used, err := procfs.CPUTime(p.child.pid())
		if err != nil || used == before {
			return used, err
		}
		before = used
		time.Sleep(step)
	}
	return before, nil
}

// Group is processes that share a port.
type Group []*Process

// StartGroup starts n processes, the i-th one at the given place. It returns the started ones even if
// it fails.
func (s *Server) StartGroup(ctx context.Context, n int, settings Settings, place func(i int) (Place, error)) (all Group, err error) {
	settings.ReusePort = n > 1
	for i := range n {
		if settings.Place, err = place(i); err != nil {
			return all, err
		}
		p, err := s.Start(ctx, settings)
		if err != nil {
			return all, err
		}
		all, settings.Addr = append(all, p), p.Addr
	}
	return all, nil
}

// CPU returns the processor time of all processes.
func (g Group) CPU() (sum time.Duration, err error) {
	for _, p := range g {
		used, err := p.CPU()
		if err != nil {
			return 0, err
		}
		sum += used
	}
	return sum, nil
}

// ThreadTime returns the processor time of the threads that the server has, in nanoseconds: short runs
// of a server that ends no threads need it.
func (p *Process) ThreadTime() (time.Duration, error) { return procfs.ThreadTime(p.child.pid()) }

// Usage has the resources of a server after a garbage collection.
type Usage struct {
	serving.Memory
	Resident    int64 // bytes
	Descriptors int
}

// Usage makes the server collect garbage and returns its remaining usage.
func (p *Process) Usage(ctx context.Context) (Usage, error) {
	var u Usage
	err := p.child.Ask(ctx, serving.MemoryWord, "figures of the server", &u.Memory)
	if err != nil {
		return u, err
	}
	if u.Resident, err = procfs.Resident(p.child.pid()); err != nil {
		return u, err
	}
	u.Descriptors, err = procfs.Descriptors(p.child.pid())
	return u, err
}

// Counts returns the counts of the server so far. Servers that are not written in Go have no
// such figures.
func (p *Process) Counts(ctx context.Context) (c serving.Counts, err error) {
	return c, p.child.Ask(ctx, serving.CountsWord, "figures of the server", &c)
}

// Resident returns how many bytes of the server are in memory, garbage included.
func (p *Process) Resident() (int64, error) { return p.child.Resident() }

// Stop ends the server. It returns an error if the server had ended before.
func (p *Process) Stop() error {
	if p.foreign {
		return p.Kill()
	}
	return p.child.Stop()
}

// Child is a program that communicates in lines, and ends when its standard input ends.
type Child struct {
	cmd   *exec.Cmd
	stdin io.WriteCloser
	lines chan string
	said  *tail
	over  chan struct{} // closed when the program has ended
	err   error         // of the program; valid after over is closed
	once  sync.Once
}

const (
	lineTimeout = 2 * time.Minute
	stopTimeout = 5 * time.Second
)

// StartChild runs a command line with additions to the environment.
func StartChild(ctx context.Context, env, line []string) (*Child, error) {
	cmd := exec.CommandContext(ctx, line[0], line[1:]...)
	cmd.Env = append(os.Environ(), env...)
	cmd.WaitDelay = stopTimeout
	c := &Child{cmd: cmd, lines: make(chan string, 16), said: new(tail), over: make(chan struct{})}
	cmd.Stderr = c.said
	var err error
	if c.stdin, err = cmd.StdinPipe(); err != nil {
		return nil, err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		defer close(c.over)
		lines := bufio.NewScanner(stdout)
		for lines.Scan() {
			select {
			case c.lines <- lines.Text():
			default: // more lines than the caller reads
			}
		}
		c.err = cmd.Wait()
		if said := c.said.String(); c.err != nil && said != "" {
			c.err = fmt.Errorf("%w: %s", c.err, said)
		}
	}()
	return c, nil
}

func (c *Child) pid() int { return c.cmd.Process.Pid }

// Resident returns how many bytes of the program are in memory.
func (c *Child) Resident() (int64, error) { return procfs.Resident(c.pid()) }

// Say writes a line to the program.
func (c *Child) Say(line string) error {
	_, err := io.WriteString(c.stdin, line+"\n")
	return err
}

// Line returns the next line that the program writes.
func (c *Child) Line(ctx context.Context) (string, error) {
	timeout := time.NewTimer(lineTimeout)
	defer timeout.Stop()
	select {
	case line := <-c.lines:
		return line, nil
	case <-c.over:
		select {
		case line := <-c.lines: // its last line
			return line, nil
		default:
		}
		return "", c.ended()
	case <-ctx.Done():
		return "", ctx.Err()
	case <-timeout.C:
		return "", fmt.Errorf("no answer for %v", lineTimeout)
	}
}

func (c *Child) ended() error {
	if c.err == nil {
		return errors.New("the program has ended")
	}
	return fmt.Errorf("the program has ended: %w", c.err)
}

// Stop ends the program and waits until it is gone. It returns an error if the
// program had ended before; further calls return nil.
func (c *Child) Stop() (err error) {
	c.once.Do(func() {
		select {
		case <-c.over:
			err = c.ended()
		default:
		}
		_ = c.stdin.Close()
		timeout := time.NewTimer(stopTimeout)
		defer timeout.Stop()
		select {
		case <-c.over:
		case <-timeout.C:
			_ = c.cmd.Process.Kill()
			<-c.over
		}
	})
	return err
}

// tail keeps the end of the bytes written to it.
type tail struct {
	mu   sync.Mutex
	text []byte
}

const maxTail = 4 << 10

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, p...)
	if extra := len(t.text) - maxTail; extra > 0 {
		t.text = append(t.text[:0], t.text[extra:]...)
	}
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.TrimSpace(string(t.text))
}
