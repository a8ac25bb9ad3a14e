package prefork

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/valyala/fasthttp/reuseport"
)

// inheritedFD is the descriptor, in a child, of the master's listener: the first one
// after standard input, output and error.
const inheritedFD = 3

// isChild is set in a child that serves: its environment no longer says so.
var isChild atomic.Bool

// becomeChild removes the variables of this package from the environment: programs that this child
// starts, such as itself again, are no children.
func becomeChild() {
	isChild.Store(true)
	masterPID()
	_ = os.Unsetenv(childEnv)
	_ = os.Unsetenv(masterEnv)
}

// serveChild serves in a child.
func (p *Prefork) serveChild(addr string, serve func(ln net.Listener) error) error {
	// there is a child for each processor
	runtime.GOMAXPROCS(1)
	ln, err := p.childListener(addr)
	if err != nil {
		return err
	}
	stop := make(chan struct{})
	defer close(stop)
	if p.OnMasterDeath != nil {
		go p.watchMaster(masterPID(), os.Getppid, stop)
	}
	if p.server == nil {
		return serve(ln)
	}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM, os.Interrupt)
	defer signal.Stop(signals)
	served := make(chan error, 1)
	go func() { served <- serve(ln) }()
	select {
	case err := <-served:
		return err
	case <-signals:
	}
	err = p.server.Shutdown()
	// a Serve that begins only now would serve
	_ = ln.Close()
	if failed := <-served; failed != nil && !errors.Is(failed, net.ErrClosed) {
		err = errors.Join(err, failed)
	}
	// that Serve may have accepted connections
	return errors.Join(err, p.server.Shutdown())
}

// childListener returns the listener of the child.
func (p *Prefork) childListener(addr string) (net.Listener, error) {
	if p.Reuseport {
		return reuseport.Listen(p.network(), addr)
	}
	f := os.NewFile(inheritedFD, "listener")
	ln, err := net.FileListener(f)
	// ln has a copy, and no process may inherit this one
	_ = f.Close()
	if err != nil {
		return nil, fmt.Errorf("prefork: cannot take over the listener of the master: %w", err)
	}
	return ln, nil
}

// masterPID returns the process id of the master. The master may have died already, so the
// value that it has passed takes precedence over the system's.
var masterPID = sync.OnceValue(func() int {
	if pid, err := strconv.Atoi(os.Getenv(masterEnv)); err == nil {
		return pid
	}
	return os.Getppid()
})

// masterInterval is how often a child checks whether its master has died.
const masterInterval = 250 * time.Millisecond

// watchMaster calls OnMasterDeath when the master is no longer the parent of this process,
// which means that the master has died.
func (p *Prefork) watchMaster(master int, parent func() int, stop <-chan struct{}) {
	ticker := time.NewTicker(masterInterval)
	defer ticker.Stop()
	for parent() == master {
		select {
		case <-stop:
			return
		case <-ticker.C:
		}
	}
	p.OnMasterDeath()
}
