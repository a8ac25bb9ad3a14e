//go:build unix

package restart

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

const (
	// listenersEnv lists the listeners that a new process inherits from the old one, in the
	// order of their descriptors: "network address" each, escaped, separated by "&".
	// The descriptor after the last listener is a pipe to the old process.
	listenersEnv = "FASTHTTP_RESTART_LISTENERS"
	// firstFD is the first inherited descriptor, after standard input, output and error.
	firstFD = 3
	// maxInherited bounds how many listeners may be inherited.
	maxInherited = 1024
)

// inherited is a listener that another process has opened.
type inherited struct {
	ln        net.Listener
	requested string // the arguments of Listen in the old process; empty if it is of systemd
}

// heirloom is everything that this process has inherited.
type heirloom struct {
	mu        sync.Mutex
	read      bool
	err       error
	listeners []inherited
	parent    *os.File // the pipe to the old process; nil if there is none

	// requested are the arguments of Listen, by listener
	requested map[net.Listener]string
}

var legacy heirloom

// Listen returns the listener that this process has inherited for the address, or a new one. After
// a restart, it returns the one for which the old process called Listen with the same arguments.
// If systemd has passed sockets (LISTEN_FDS), it returns one of the same kind with that port and
// address, or with that path. The network is tcp, tcp4, tcp6 or unix.
//
// Listen returns an error if the environment or an inherited descriptor is malformed. Inherited
// listeners without a call of Listen are closed when Runner.Run begins.
func Listen(network, addr string) (net.Listener, error) {
	switch network {
	case "tcp", "tcp4", "tcp6", "unix":
	default:
		return nil, errors.New("restart: cannot hand over listeners of the network " + strconv.Quote(network))
	}
	return legacy.listen(network, addr)
}

func (h *heirloom) listen(network, addr string) (net.Listener, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := h.inherit(); err != nil {
		return nil, err
	}
	requested := network + " " + addr
	ln, found := h.take(network, addr, requested)
	if !found {
		var err error
		if ln, err = net.Listen(network, addr); err != nil {
			return nil, err
		}
	}
	if h.requested == nil {
		h.requested = map[net.Listener]string{}
	}
	h.requested[ln] = requested
	return ln, nil
}

// take returns the inherited listener for the arguments of Listen.
func (h *heirloom) take(network, addr, requested string) (ln net.Listener, found bool) {
	for i, in := range h.listeners {
		if in.requested != requested && (in.requested != "" || !listensOn(in.ln, network, addr)) {
			continue
		}
		h.listeners = append(h.listeners[:i], h.listeners[i+1:]...)
		return in.ln, true
	}
	return nil, false
}

// listensOn reports whether a listener has the address.
func listensOn(ln net.Listener, network, addr string) bool {
	switch own := ln.Addr().(type) {
	case *net.UnixAddr:
		return network == "unix" && own.Name == addr
	case *net.TCPAddr:
		wanted, err := net.ResolveTCPAddr(network, addr)
		if network == "unix" || err != nil || own.Port != wanted.Port {
			return false
		}
		is4 := own.IP.To4() != nil
		if network == "tcp4" && !is4 || network == "tcp6" && is4 {
			return false
		}
		anywhere := wanted.IP == nil || wanted.IP.IsUnspecified()
		return own.IP.Equal(wanted.IP) || own.IP.IsUnspecified() && anywhere
	}
	return false
}

// inherit reads the environment, once. It removes the variables, so that programs which this
// process starts do not believe that they have inherited anything.
func (h *heirloom) inherit() error {
	if h.read {
		return h.err
	}
	h.read = true
	var requested []string
	requested, h.err = inheritedNames(os.Getenv, os.Getpid())
	fromParent := os.Getenv(listenersEnv) != ""
	for _, name := range []string{listenersEnv, "LISTEN_FDS", "LISTEN_PID", "LISTEN_FDNAMES"} {
		_ = os.Unsetenv(name)
	}
	if h.err != nil {
		return h.err
	}
	for i := range requested {
		unix.CloseOnExec(firstFD + i)
	}
	for i, name := range requested {
		ln, err := listenerOf(firstFD + i)
		if err != nil {
			h.err = fmt.Errorf("restart: cannot inherit descriptor %d: %w", firstFD+i, err)
			return h.err
		}
		if u, ok := ln.(*net.UnixListener); ok && fromParent {
			// the last process removes the file
			u.SetUnlinkOnClose(true)
		}
		h.listeners = append(h.listeners, inherited{ln, name})
	}
	if fromParent {
		fd := firstFD + len(requested)
		unix.CloseOnExec(fd)
		h.parent = os.NewFile(uintptr(fd), "parent")
	}
	return nil
}

// inheritedNames returns the names of inherited listeners. The name of a socket of systemd is
// empty.
func inheritedNames(env func(string) string, pid int) ([]string, error) {
	if list := env(listenersEnv); list != "" {
		var names []string
		for part := range strings.SplitSeq(list, "&") {
			name, err := url.QueryUnescape(part)
			if network, addr, ok := strings.Cut(name, " "); err != nil || !ok || network == "" || addr == "" && network == "unix" {
				return nil, errors.New("restart: malformed " + listenersEnv)
			}
			names = append(names, name)
		}
		if len(names) > maxInherited {
			return nil, errors.New("restart: too many listeners in " + listenersEnv)
		}
		return names, nil
	}
	// the variables of systemd may have been meant for a parent of this process
	if text := env("LISTEN_FDS"); text != "" && env("LISTEN_PID") == strconv.Itoa(pid) {
		n, err := strconv.Atoi(text)
		if err != nil || n < 0 || n > maxInherited {
			return nil, errors.New("restart: malformed LISTEN_FDS " + strconv.Quote(text))
		}
		return make([]string, n), nil
	}
	return nil, nil
}

// listenerOf takes over a descriptor.
func listenerOf(fd int) (net.Listener, error) {
	accepts, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_ACCEPTCONN)
	if err != nil {
		return nil, os.NewSyscallError("getsockopt", err)
	}
	if accepts == 0 {
		return nil, errors.New("the socket does not listen")
	}
	f := os.NewFile(uintptr(fd), "listener")
	defer func() { _ = f.Close() }()
	return net.FileListener(f)
}

// announce tells the old process that this one serves, and closes inherited listeners that are not
// used. It reports whether there is an old process.
func (h *heirloom) announce() (replaces bool, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := h.inherit(); err != nil {
		return false, err
	}
	for _, in := range h.listeners {
		if u, ok := in.ln.(*net.UnixListener); ok {
			u.SetUnlinkOnClose(false)
		}
		_ = in.ln.Close()
	}
	h.listeners = nil
	if h.parent == nil {
		return false, nil
	}
	_, err = h.parent.Write([]byte{1})
	_ = h.parent.Close()
	h.parent = nil
	return true, err
}

// names returns the arguments of Listen for listeners.
func (h *heirloom) names(lns []net.Listener) ([]string, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	names := make([]string, len(lns))
	for i, ln := range lns {
		name, ok := h.requested[ln]
		if !ok {
			return nil, errors.New("restart: a listener is not of Listen: " + ln.Addr().String())
		}
		names[i] = url.QueryEscape(name)
	}
	return names, nil
}
