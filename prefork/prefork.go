// Package prefork runs a server as several processes: a master, which starts and supervises
// the children, and a child for each processor, which serves. The children do not share a heap
// or a garbage collector. On large machines that serves more requests. But data that a handler
// keeps in memory, such as a cache or a limit, is local to one child.
//
// Each child runs the program from its beginning, up to the call of ListenAndServe. In
// a child ListenAndServe serves; in the master it supervises. IsChild reports whether
// the process is a child. Start with New.
package prefork

import (
	"errors"
	"net"
	"os"
	"os/exec"
	"runtime"
	"time"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/servertls"
)

const (
	// childEnv is set to "1" in the environment of a child.
	childEnv = "FASTHTTP_PREFORK_CHILD"
	// masterEnv is set to the process id of the master in the environment of a child.
	masterEnv = "FASTHTTP_PREFORK_MASTER"

	defaultNetwork     = "tcp4"
	defaultGracePeriod = 5 * time.Second
)

var (
	// ErrOverRecovery is returned if more children have ended than RecoverThreshold allows.
	ErrOverRecovery = errors.New("prefork: exceeding the value of recoverthreshold")

	// ErrOnlyReuseportOnWindows is returned on Windows if Reuseport is not set. Windows has no
	// other way to share a listener.
	ErrOnlyReuseportOnWindows = errors.New("prefork: windows only supports reuseport = true")

	// ErrCommandProducerNilCmd is returned if CommandProducer returns neither a command nor an
	// error.
	ErrCommandProducerNilCmd = errors.New("prefork: commandproducer returned nil command")

	// ErrCommandProducerNotStarted is returned if CommandProducer returns a command that it
	// has not started.
	ErrCommandProducerNotStarted = errors.New("prefork: commandproducer must return a started command")
)

// Logger writes log lines. It has the method of fasthttp.Logger.
type Logger interface {
	// Printf must be safe for concurrent use, and take arguments as log.Printf does.
	Printf(format string, args ...any)
}

// Prefork runs a server as several processes. Make one with New, or set RecoverThreshold and
// the function that serves. Fields must not be changed after a ListenAndServe method was
// called.
type Prefork struct {
	// Logger logs starts and ends of children. By default the log goes to standard
	// error.
	Logger Logger

	// In a child, ServeFunc, ServeTLSFunc and ServeTLSEmbedFunc serve the listener of
	// ListenAndServe, ListenAndServeTLS and ListenAndServeTLSEmbed, respectively. New sets
	// them to the methods of the server.
	ServeFunc         func(ln net.Listener) error
	ServeTLSFunc      func(ln net.Listener, certFile, keyFile string) error
	ServeTLSEmbedFunc func(ln net.Listener, certData, keyData []byte) error

	// Network is "tcp4", "tcp6", or "tcp" for both. The default is "tcp4".
	Network string

	// RecoverThreshold is how many ended children are replaced, whatever the reason for their
	// end. When one more ends, the master stops with ErrOverRecovery: with 0, when the first
	// one ends. New sets RecoverThreshold to half of GOMAXPROCS, but at least 1.
	RecoverThreshold int

	// RecoverInterval is the time between the end of a child and the start of its
	// replacement, so that a program that cannot start does not keep a processor
	// busy. Children that end at the same time are replaced at the same time. By default a
	// child is replaced at once.
	RecoverInterval time.Duration

	// ShutdownGracePeriod is how long children may take to end after SIGTERM before
	// the master kills them. The default is 5 seconds. Windows has no SIGTERM: there
	// the master kills them at once.
	ShutdownGracePeriod time.Duration

	// Reuseport makes each child listen itself, with SO_REUSEPORT, and the system distributes
	// the connections among the children. Otherwise the master listens, and the children
	// inherit the listener and accept connections from one queue. See package reuseport.
	Reuseport bool

	// OnMasterDeath is called once in a child whose master has died, within a
	// quarter of a second, in a separate goroutine. By default the child continues
	// to serve. To end it, set a function that calls os.Exit.
	OnMasterDeath func()

	// OnChildSpawn is called in the master after a child was started, at the beginning or as a
	// replacement. An error stops all children, and the ListenAndServe method returns it. This
	// callback and the ones below are called one after the other; the master waits for each.
	OnChildSpawn func(pid int) error

	// OnMasterReady is called once in the master after all children were started,
	// with their process ids. It must not keep the slice. An error stops all
	// children, and the ListenAndServe method returns it.
	OnMasterReady func(childPIDs []int) error

	// OnChildRecover is called in the master after the child newPID has replaced the
	// child oldPID, and after OnChildSpawn.
	OnChildRecover func(oldPID, newPID int)

	// CommandProducer starts a child and returns its command. The default starts this program
	// with its arguments, with FASTHTTP_PREFORK_CHILD=1 in the environment, files as
	// ExtraFiles and the outputs of the master. Another producer must set that variable, too:
	// otherwise IsChild is false. It must also pass files on, which hold the listener of the
	// master unless Reuseport is set. Its children do not share the keys of TLS session
	// tickets: see ListenAndServeTLS.
	CommandProducer func(files []*os.File) (*exec.Cmd, error)

	server  *fasthttp.Server // nil if New was not used
	tickets *servertls.Keys  // of a master whose children speak TLS
}

// New returns a Prefork that serves with s. It uses s.Logger.
//
// A child shuts s down when it receives SIGINT or SIGTERM, which the master sends to end it:
// the child completes the requests in progress, and its ListenAndServe method returns.
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

// IsChild reports whether this process is a child. A ListenAndServe method of a child removes
// FASTHTTP_PREFORK_CHILD from the environment, so that programs which the child starts from then on
// are no children.
func IsChild() bool { return isChild.Load() || os.Getenv(childEnv) == "1" }

// ListenAndServe serves HTTP on addr, of the form "host:port".
//
// In the master it starts a child for each processor and returns when they have all
// ended. After SIGTERM or SIGINT, which it passes on to the children, it returns nil.
// Otherwise it returns the error of listening, of starting a child or of a callback,
// or ErrOverRecovery. In a child it returns the result of ServeFunc.
func (p *Prefork) ListenAndServe(addr string) error {
	return p.run(addr, func(ln net.Listener) error { return p.ServeFunc(ln) })
}

// ListenAndServeTLS is like ListenAndServe, for HTTPS, with the PEM files of the key and of
// the certificate. Note that fasthttp.Server.ListenAndServeTLS takes them in the other order.
//
// The children of New share the keys of session tickets, so that a client resumes its session
// with any of them: the master hands them a secret, from which a new key follows each day; a
// ticket is accepted for a week. Keys that the application has set in TLSConfig remain. So do
// the keys of a configuration that GetConfigForClient returns; if it has none, crypto/tls uses
// the keys of TLSConfig. A restart of the master makes new keys. Children of a
// CommandProducer, children on Windows, and servers of several masters share keys only if the
// application sets them, with tls.Config.SetSessionTicketKeys.
func (p *Prefork) ListenAndServeTLS(addr, certKey, certFile string) error {
	p.shareTickets()
	return p.run(addr, func(ln net.Listener) error { return p.ServeTLSFunc(ln, certFile, certKey) })
}

// ListenAndServeTLSEmbed is like ListenAndServe, for HTTPS, with the certificate and
// the key in PEM form.
func (p *Prefork) ListenAndServeTLSEmbed(addr string, certData, keyData []byte) error {
	p.shareTickets()
	return p.run(addr, func(ln net.Listener) error { return p.ServeTLSEmbedFunc(ln, certData, keyData) })
}

func (p *Prefork) run(addr string, serve func(ln net.Listener) error) error {
	if !p.Reuseport && runtime.GOOS == "windows" {
		return ErrOnlyReuseportOnWindows
	}
	if IsChild() {
		becomeChild()
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
