package rig

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/valyala/fasthttp/bench/internal/report"
)

const (
	benchModule    = "github.com/valyala/fasthttp/bench"
	fasthttpModule = "github.com/valyala/fasthttp"

	// engineVariable selects the engine of this fasthttp. The published one ignores it.
	engineVariable = "FASTHTTP_ENGINE"
)

// The names of the servers, in the order they are measured and shown.
const (
	Event    = "ours, event engine"
	Portable = "ours, portable engine"
	Upstream = report.Upstream
	NetHTTP  = report.NetHTTP
	Floor    = "C epoll loop, no HTTP"
	TLSLoop  = "loop of crypto/tls, no HTTP"
)

// Usual are the servers whose versions the head of a report has.
var Usual = []string{Event, Portable, Upstream, NetHTTP}

// Server is a program to measure.
type Server struct {
	Name    string
	Version string
	binary  string
	env     []string
	flags   []string // of every command line

	// args returns the arguments of a server outside of this module, and writes its configuration.
	args func(addr string, settings Settings) ([]string, error)
	// cannot has the kinds of loads that the server does not have.
	cannot []Ability
	warm   int
}

// WarmSeconds is how long the server has to be under load before it is as fast as it gets.
func (s *Server) WarmSeconds() int { return s.warm }

// Ability is a kind of load that some servers do not have.
type Ability string

// The kinds of loads that some servers do not have.
const (
	TLS     Ability = "TLS"
	Waiting Ability = "handlers that wait"
)

// Can reports whether the server has a kind of load. All servers have the others.
func (s *Server) Can(a Ability) bool { return !slices.Contains(s.cannot, a) }

// Modules are the module files with which the two fasthttp servers are built.
type Modules struct{ Ours, Upstream string }

// Build compiles the server programs into temp. dir is the bench folder.
func Build(ctx context.Context, dir, temp string, modules Modules) ([]*Server, error) {
	servers, err := buildFasthttp(ctx, dir, temp, modules, "fasthttp")
	if err != nil {
		return nil, err
	}
	nethttp, err := build(ctx, dir, temp, "nethttp", modules.Ours, "nethttp")
	if err != nil {
		return nil, err
	}
	nethttp.Name, nethttp.Version = NetHTTP, Host().Go
	return append(servers, nethttp), nil
}

// BuildFiles compiles the file servers into temp. dir is the bench folder.
func BuildFiles(ctx context.Context, dir, temp string, modules Modules) ([]*Server, error) {
	return buildFasthttp(ctx, dir, temp, modules, "files")
}

// buildFasthttp compiles a program with both fasthttps: ours has two engines.
func buildFasthttp(ctx context.Context, dir, temp string, modules Modules, program string) ([]*Server, error) {
	ours, err := build(ctx, dir, temp, "ours-"+program, modules.Ours, program)
	if err != nil {
		return nil, err
	}
	upstream, err := build(ctx, dir, temp, "upstream-"+program, modules.Upstream, program)
	if err != nil {
		return nil, err
	}
	event, portable := *ours, *ours
	event.Name, event.env = Event, []string{engineVariable + "=event"}
	portable.Name, portable.env = Portable, []string{engineVariable + "=portable"}
	upstream.Name = Upstream
	return []*Server{&event, &portable, upstream}, nil
}

// BuildEvent compiles only this fasthttp's server, with the event engine.
func BuildEvent(ctx context.Context, dir, temp string) (*Server, error) {
	s, err := build(ctx, dir, temp, "ours", "go.mod", "fasthttp")
	if err == nil {
		s.Name, s.env = Event, []string{engineVariable + "=event"}
	}
	return s, err
}

// BuildFloor compiles bench/floor/floor.c, a loop in C that shows the cost of the system calls
// alone. It is an error if there is no C compiler.
func BuildFloor(ctx context.Context, dir, temp string) (*Server, error) {
	return buildC(ctx, dir, temp, Floor, "floor")
}

// buildC compiles a program of bench/floor.
func buildC(ctx context.Context, dir, temp, name, program string) (*Server, error) {
	cc, err := exec.LookPath("cc")
	if err != nil {
		return nil, fmt.Errorf("there is no C compiler (cc) for the server %q", name)
	}
	binary := filepath.Join(temp, program+"-in-c")
	if err := RunIn(ctx, dir, cc, "-O2", "-Wall", "-Werror", "-o", binary, filepath.Join("floor", program+".c")); err != nil {
		return nil, err
	}
	return &Server{Name: name, Version: "C", binary: binary, cannot: []Ability{TLS, Waiting}}, nil
}

// BuildTLSLoop compiles the server that shows the cost of TLS alone, with a goroutine for each
// connection.
func BuildTLSLoop(ctx context.Context, dir, temp string) (*Server, error) {
	s, err := build(ctx, dir, temp, "tlsloop", "go.mod", "tlsloop")
	if err == nil {
		s.Name, s.Version = TLSLoop, Host().Go
	}
	return s, err
}

func build(ctx context.Context, dir, temp, name, modfile, program string) (*Server, error) {
	binary := filepath.Join(temp, name+"-server")
	if err := RunIn(ctx, dir, "go", "build", "-modfile="+modfile, "-o", binary, "./servers/"+program); err != nil {
		return nil, err
	}
	version, err := Version(ctx, dir, modfile)
	if err != nil {
		return nil, err
	}
	return &Server{Version: version, binary: binary}, nil
}

// Version returns the version of fasthttp in a module file of the bench folder.
func Version(ctx context.Context, dir, modfile string) (string, error) {
	text, err := outputIn(ctx, dir, "go", "list", "-m", "-modfile="+modfile,
		"-f", "{{.Version}} {{with .Replace}}replaced{{end}}", fasthttpModule)
	if err != nil {
		return "", err
	}
	version, replaced, _ := strings.Cut(text, " ")
	if replaced != "" {
		return "this tree at " + revision(ctx, dir), nil
	}
	return "fasthttp " + version, nil
}

// revision returns the commit of the tree that contains dir.
func revision(ctx context.Context, dir string) string {
	commit, err := outputIn(ctx, dir, "git", "rev-parse", "--short=12", "HEAD")
	if err != nil {
		return "an unknown commit"
	}
	if changes, err := outputIn(ctx, dir, "git", "status", "--porcelain", "--", ":/"); err != nil || changes != "" {
		commit += " with local changes"
	}
	return commit
}

// BenchDir returns the bench folder, which is the module in which the command was started.
func BenchDir(ctx context.Context) (string, error) {
	text, err := outputIn(ctx, "", "go", "list", "-m", "-f", "{{.Path}} {{.Dir}}")
	if err != nil {
		return "", err
	}
	path, dir, _ := strings.Cut(text, " ")
	if path != benchModule {
		return "", fmt.Errorf("this is module %s: run the command in the bench folder", path)
	}
	return dir, nil
}

// WithStderr adds the error output of a command to its error.
func WithStderr(err error) error {
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && len(exit.Stderr) > 0 {
		return fmt.Errorf("%w: %s", err, strings.TrimSpace(string(exit.Stderr)))
	}
	return err
}
