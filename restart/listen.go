//go:build unix

package restart

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

const (
	// listenersEnv lists the listeners that a new process inherits from the old one, in the
	// order of their descriptors: "network address" each, escaped, separated by "&", and after
	// lentMark if it came from another program, which will use its socket again.
	// The descriptor after the last listener is a pipe to the old process.
	listenersEnv = "FASTHTTP_RESTART_LISTENERS"
	lentMark     = "*"
	// firstFD is the first inherited descriptor, after standard input, output and error.
	firstFD = 3
	// maxInherited bounds how many listeners may be inherited.
	maxInherited = 1024
)

// inherited is a listener that another process has opened.
type inherited struct {
	ln net.Listener
	legacyName
}

// legacyName is how a listener was handed over.
type legacyName struct {
	requested string // the arguments of Listen in the old process; empty if it is of systemd
	lent      bool   // it is of systemd, to this process or to one before
}

// heirloom is everything that this process has inherited.
type heirloom struct {
	mu        sync.Mutex
	read      bool
	err       error
	listeners []inherited
	parent    *os.File // the pipe to the old process; nil if there is none

	// names are of the listeners that Listen has returned
	names map[net.Listener]legacyName
	// files are inherited listeners whose files the last process removes
	files []*net.UnixListener
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
	in, found := h.take(network, addr, requested)
	if !found {
		var err error
		if in.ln, err = net.Listen(network, addr); err != nil {
			return nil, err
		}
	}
	if u, ok := in.ln.(*net.UnixListener); ok && found && !in.lent {
		h.files = append(h.files, u)
	}
	if h.names == nil {
		h.names = map[net.Listener]legacyName{}
	}
	h.names[in.ln] = legacyName{requested, in.lent}
	return in.ln, nil
}

// take returns the inherited listener for the arguments of Listen.
func (h *heirloom) take(network, addr, requested string) (in inherited, found bool) {
	for i, in := range h.listeners {
		if in.requested != requested && (in.requested != "" || !listensOn(in.ln, network, addr)) {
			continue
		}
		h.listeners = append(h.listeners[:i], h.listeners[i+1:]...)
		return in, true
	}
	return inherited{}, false
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
	var names []legacyName
	names, h.err = inheritedNames(os.Getenv, os.Getpid())
	fromParent := os.Getenv(listenersEnv) != ""
	for _, name := range []string{listenersEnv, "LISTEN_FDS", "LISTEN_PID", "LISTEN_FDNAMES"} {
		_ = os.Unsetenv(name)
	}
	if h.err != nil {
		return h.err
	}
	for i := range names {
		unix.CloseOnExec(firstFD + i)
	}
	for i, name := range names {
		ln, err := listenerOf(firstFD + i)
		if err != nil {
			h.err = fmt.Errorf("restart: cannot inherit descriptor %d: %w", firstFD+i, err)
			return h.err
		}
		h.listeners = append(h.listeners, inherited{ln, name})
	}
	if fromParent {
		fd := firstFD + len(names)
		unix.CloseOnExec(fd)
		h.parent = os.NewFile(uintptr(fd), "parent")
	}
	return nil
}

// inheritedNames returns the names of inherited listeners.
func inheritedNames(env func(string) string, pid int) ([]legacyName, error) {
	if list := env(listenersEnv); list != "" {
		var names []legacyName
		for part := range strings.SplitSeq(list, "&") {
			part, lent := strings.CutPrefix(part, lentMark)
			name, err := url.QueryUnescape(part)
			if network, addr, ok := strings.Cut(name, " "); err != nil || !ok || network == "" || addr == "" && network == "unix" {
				return nil, errors.New("restart: malformed " + listenersEnv)
			}
			names = append(names, legacyName{name, lent})
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
		return slices.Repeat([]legacyName{{lent: true}}, n), nil
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
		_ = in.ln.Close()
	}
	h.listeners = nil
	if h.parent == nil {
		return false, nil
	}
	// until now the old process may continue
	for _, u := range h.files {
		u.SetUnlinkOnClose(true)
	}
	h.files = nil
	_, err = h.parent.Write([]byte{1})
	_ = h.parent.Close()
	h.parent = nil
	return true, err
}

// handedOver returns the names of listeners for a new process.
func (h *heirloom) handedOver(lns []net.Listener) ([]string, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	names := make([]string, len(lns))
	for i, ln := range lns {
		name, ok := h.names[ln]
		if !ok {
			return nil, errors.New("restart: a listener is not of Listen: " + ln.Addr().String())
		}
		names[i] = url.QueryEscape(name.requested)
		if name.lent {
			names[i] = lentMark + names[i]
		}
	}
	return names, nil
}
