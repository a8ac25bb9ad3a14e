// Package prefork runs a server as several processes: a master that starts and
// watches them, and a child for each processor that serves. The children share
// nothing, neither a heap nor a garbage collector, which on large machines
// serves more requests; for the same reason nothing that a handler keeps in
// memory, such as a cache or a limit, is known to the others.
//
// The program runs again from its beginning in each child, up to the call of
// ListenAndServe, which serves there and watches in the master. IsChild tells
// where it is. Start with New.
package prefork

import (
	"errors"
	"net"
	"os"
	"os/exec"
	"runtime"
	"time"

	"github.com/valyala/fasthttp"
)

const (
	// childEnv is set to "1" in the environment of a child.
	childEnv = "FASTHTTP_PREFORK_CHILD"
	// masterEnv tells a child the process id of its master.
	masterEnv = "FASTHTTP_PREFORK_MASTER"

	defaultNetwork     = "tcp4"
	defaultGracePeriod = 5 * time.Second
)

var (
	// ErrOverRecovery says that children have ended more often than
	// RecoverThreshold allows.
	ErrOverRecovery = errors.New("prefork: exceeding the value of recoverthreshold")

	// ErrOnlyReuseportOnWindows says that Reuseport is not set, without which
	// Windows has no way to share a listener.
	ErrOnlyReuseportOnWindows = errors.New("prefork: windows only supports reuseport = true")

	// ErrCommandProducerNilCmd says that CommandProducer has returned neither a
	// command nor an error.
	ErrCommandProducerNilCmd = errors.New("prefork: commandproducer returned nil command")

	// ErrCommandProducerNotStarted says that CommandProducer has returned a
	// command without having started it.
	ErrCommandProducerNotStarted = errors.New("prefork: commandproducer must return a started command")
)

// Logger writes log lines. Its method is that of fasthttp.Logger.
type Logger interface {
	// Printf must be safe for concurrent use, and take arguments as log.Printf does.
	Printf(format string, args ...any)
}

// Prefork runs a server as several processes. Make one with New, or set the
// function that serves and RecoverThreshold. Fields must not be changed once a
// ListenAndServe method was called.
type Prefork struct {
	// Logger gets what happens to children. By default it goes to the standard
	// error output.
	Logger Logger

	// ServeFunc, ServeTLSFunc and ServeTLSEmbedFunc serve in a child what
	// ListenAndServe, ListenAndServeTLS and ListenAndServeTLSEmbed listen on.
	// New sets them to the methods of the server.
	ServeFunc         func(ln net.Listener) error
	ServeTLSFunc      func(ln net.Listener, certFile, keyFile string) error
	ServeTLSEmbedFunc func(ln net.Listener, certData, keyData []byte) error

	// Network is "tcp4", "tcp6", or "tcp" for both; "tcp4" where it is empty.
	Network string

	// RecoverThreshold is how many children may end, for whatever reason, and
	// be replaced. With the next one the master stops with ErrOverRecovery. New
	// sets it to half of GOMAXPROCS, but at least 1.
	RecoverThreshold int

	// RecoverInterval is how long the place of a child that has ended stays
	// empty, so that a program that cannot start does not keep a processor
	// busy. Children that end at the same time are replaced at the same time.
	RecoverInterval time.Duration

	// ShutdownGracePeriod is how long children may take to end after SIGTERM
	// before they are killed; 5 seconds where it is 0. On Windows, which has no
	// SIGTERM, they are killed at once.
	ShutdownGracePeriod time.Duration

	// Reuseport has each child listen for itself with SO_REUSEPORT, so that
	// the system spreads the connections over them. Otherwise the master
	// listens, and hands that to the children, who take connections from one
	// queue. See package reuseport.
	Reuseport bool

	// OnMasterDeath is called once in a child whose master has died, within a
	// quarter of a second. By default the child goes on serving; a program
	// that does not want that sets a function that calls os.Exit. It runs in a
	// goroutine of its own.
	OnMasterDeath func()

	// OnChildSpawn is called in the master when a child was started, at the
	// beginning or in the place of another. An error stops all children, and
	// the ListenAndServe method returns it. This callback and those below are
	// called one after the other; the master waits for them.
	OnChildSpawn func(pid int) error

	// OnMasterReady is called once in the master when all children were
	// started, with their process ids, which must not be kept. An error stops
	// all children, and the ListenAndServe method returns it.
	OnMasterReady func(childPIDs []int) error

	// OnChildRecover is called in the master when newPID has taken the place
	// of oldPID, after OnChildSpawn.
	OnChildRecover func(oldPID, newPID int)

	// CommandProducer starts a child and returns its command. By default that
	// is this program with its arguments, with FASTHTTP_PREFORK_CHILD=1 in the
	// environment, files as ExtraFiles and the outputs of the master. Another
	// producer must set that variable, too, or IsChild is false, and hand on
	// files, which is what the master listens on unless Reuseport is set.
	CommandProducer func(files []*os.File) (*exec.Cmd, error)

	server *fasthttp.Server // nil where New was not used
}

// New returns a Prefork that serves with s. It takes over s.Logger.
//
// A child that gets SIGTERM, which the master sends it to end, or SIGINT, shuts
// s down: it answers what it has begun, and its ListenAndServe method returns.
func New(s *fasthttp.Server) *Prefork {
	p := &Prefork{
		ServeFunc:         s.Serve,
		ServeTLSFunc:      s.ServeTLS,
		ServeTLSEmbedFunc: s.ServeTLSEmbed,
		Network:           defaultNetwork,
		RecoverThreshold:  max(1, runtime.GOMAXPROCS(0)/2),
		server:            s,
	}
	if s.Logger != nil {
		p.Logger = s.Logger
	}
	return p
}

// IsChild reports whether this process is a child.
func IsChild() bool { return os.Getenv(childEnv) == "1" }

// ListenAndServe serves HTTP on addr, of the form "host:port".
//
// In the master it starts a child for each processor and returns when they have
// all ended: nil after SIGTERM or SIGINT, which the children are told; else the
// error of listening, of starting a child or of a callback, or ErrOverRecovery.
// In a child it returns what ServeFunc does.
func (p *Prefork) ListenAndServe(addr string) error {
	return p.run(addr, func(ln net.Listener) error { return p.ServeFunc(ln) })
}

// ListenAndServeTLS is ListenAndServe for HTTPS, with the PEM files of the key
// and of the certificate. Note their order, which is not that of
// fasthttp.Server.ListenAndServeTLS.
func (p *Prefork) ListenAndServeTLS(addr, certKey, certFile string) error {
	return p.run(addr, func(ln net.Listener) error { return p.ServeTLSFunc(ln, certFile, certKey) })
}

// ListenAndServeTLSEmbed is ListenAndServe for HTTPS, with the certificate and
// the key in PEM form.
func (p *Prefork) ListenAndServeTLSEmbed(addr string, certData, keyData []byte) error {
	return p.run(addr, func(ln net.Listener) error { return p.ServeTLSEmbedFunc(ln, certData, keyData) })
}

func (p *Prefork) run(addr string, serve func(ln net.Listener) error) error {
	if !p.Reuseport && runtime.GOOS == "windows" {
		return ErrOnlyReuseportOnWindows
	}
	if IsChild() {
		return p.serveChild(addr, serve)
	}
	return p.watchChildren(addr)
}

func (p *Prefork) network() string {
	if p.Network == "" {
		return defaultNetwork
	}
	return p.Network
}
