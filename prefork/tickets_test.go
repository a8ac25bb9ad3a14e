//go:build !windows

package prefork

import (
	"crypto/tls"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/servertest"
	"github.com/valyala/fasthttp/internal/servertls"
)

// chooseConfig makes s choose a configuration without keys for each client.
func chooseConfig(s *fasthttp.Server) {
	if s.TLSConfig == nil {
		s.TLSConfig = new(tls.Config)
	}
	config := s.TLSConfig
	config.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) {
		return &tls.Config{Certificates: config.Certificates}, nil
	}
}

// session connects with the sessions of the client. It returns the child that has
// answered and whether that resumed one.
func (f *family) session(t *testing.T) (pid int, resumed bool) {
	t.Helper()
	var err error
	id, did, _ := strings.Cut(f.get(t, "/session"), " ")
	if pid, err = strconv.Atoi(id); err != nil {
		t.Fatal(err)
	}
	return pid, did == "true"
}

// expectResumed connects until each child has answered, and checks that all of them
// resume the session.
func (f *family) expectResumed(t *testing.T, pids ...int) {
	t.Helper()
	var mu sync.Mutex
	seen := make(map[int]bool)
	servertest.Eventually(t, "an answer of each child", func() bool {
		// at the same time, so that not always the same child is the first
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				pid, resumed := f.session(t)
				if !resumed {
					t.Errorf("child %d does not resume the session", pid)
				}
				mu.Lock()
				defer mu.Unlock()
				seen[pid] = true
			})
		}
		wg.Wait()
		for _, pid := range pids {
			if !seen[pid] {
				return t.Failed()
			}
		}
		return true
	})
}

func (f *family) stop(t *testing.T) {
	t.Helper()
	_ = f.cmd.Process.Signal(syscall.SIGTERM)
	if err := f.wait(t); err != nil {
		t.Errorf("the master ends with %v", err)
	}
}

func TestChildrenResumeSessionsOfEachOther(t *testing.T) {
	for _, kind := range kinds {
		for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
			t.Run(kind.role+"/"+kind.engine+"/"+tls.VersionName(version), func(t *testing.T) {
				f := startFamilyOfTLS(t, kind.role, kind.engine, "files")
				f.tls.MaxVersion = version
				f.tls.ClientSessionCache = tls.NewLRUClientSessionCache(0)
				if pid, resumed := f.session(t); resumed {
					t.Errorf("child %d resumes a session before there is one", pid)
				}
				f.expectResumed(t, f.pids...)

				f.get(t, "/crash")
				pids := strings.Fields(f.line(t, "recovered"))
				pid, err := strconv.Atoi(pids[1])
				if err != nil {
					t.Fatal(err)
				}
				f.pids = append(f.pids, pid)
				f.expectResumed(t, pid)
				f.stop(t)
			})
		}
	}
}

func TestSessionsResumeWithAChosenConfiguration(t *testing.T) {
	t.Setenv("PREFORK_TEST_CONFIG", "chosen")
	f := startFamilyOfTLS(t, "inherit", "auto", "config")
	f.tls.ClientSessionCache = tls.NewLRUClientSessionCache(0)
	f.session(t)
	f.expectResumed(t, f.pids...)
	f.stop(t)
}

// Several masters share keys only if the application has set them.
func TestTicketKeysOfTheApplicationAreUsed(t *testing.T) {
	for _, key := range []string{"", "some key"} {
		t.Setenv("PREFORK_TEST_TICKET_KEY", key)
		first := startFamilyOfTLS(t, "inherit", "auto", "files")
		first.tls.ClientSessionCache = tls.NewLRUClientSessionCache(0)
		// sessions belong to this name, at any address
		first.tls.ServerName = "127.0.0.1"
		first.session(t)
		first.expectResumed(t, first.pids...)

		second := startFamilyOfTLS(t, "inherit", "auto", "files")
		second.tls = first.tls
		second.tls.InsecureSkipVerify = true
		if _, resumed := second.session(t); resumed != (key != "") {
			t.Errorf("with the key %q another server resumes the session: %v", key, resumed)
		}
		first.stop(t)
		second.stop(t)
	}
}

func TestChildrenWithoutTicketKeysServe(t *testing.T) {
	t.Setenv(childEnv, "1")
	for _, value := range []string{"", "x", "-1", "2", "1000000"} {
		t.Setenv(ticketsEnv, value)
		var log servertest.Log
		p := New(&fasthttp.Server{Logger: &log})
		p.shareTickets()
		if value != "" {
			log.WaitFor(t, "prefork: clients resume")
		} else {
			log.CheckEmpty(t)
		}
		if p.tickets != nil {
			t.Error("a child has keys to hand on")
		}
	}
}

// A pipe that ends too early must not become a key of zeros.
func TestTicketKeysMustBeWhole(t *testing.T) {
	t.Setenv(childEnv, "1")
	for _, n := range []int{0, servertls.ExportedSize - 1, servertls.ExportedSize + 1} {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(make([]byte, n)); err != nil {
			t.Fatal(err)
		}
		_ = w.Close()
		fd, err := syscall.Dup(int(r.Fd()))
		if err != nil {
			t.Fatal(err)
		}
		_ = r.Close()
		t.Setenv(ticketsEnv, fmt.Sprint(fd))
		p := New(&fasthttp.Server{})
		if err := p.takeTickets(); err == nil {
			t.Errorf("%d bytes are keys", n)
		}
		if _, set := os.LookupEnv(ticketsEnv); set {
			t.Error("programs that a child starts get the number of its pipe")
		}
	}
}
