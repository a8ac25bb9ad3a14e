//go:build !windows

package prefork

import (
	"bufio"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/servertest"
	"golang.org/x/sys/unix"
)

// Some tests start the test binary as their child, or as their master. A variable in the
// environment selects its role.
const roleEnv = "PREFORK_TEST_ROLE"

func TestMain(m *testing.M) {
	switch os.Getenv(roleEnv) {
	case "":
		os.Exit(m.Run())
	case "crash":
		os.Exit(3)
	case "wait":
		// SIGTERM ends it
		select {}
	case "stubborn":
		ignoreSIGTERM()
	default:
		if err := serveForTest(); err != nil {
			fmt.Fprintln(os.Stderr, "serving failed:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
}

// The children of a test end with it even if it fails: their standard input is a pipe
// that the test holds.
func endWithStdin() {
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(9)
	}()
}

func serveForTest() error {
	if !IsChild() {
		endWithStdin()
	}
	s := &fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) {
		switch string(ctx.Path()) {
		case "/crash":
			os.Exit(7)
		case "/session":
			fmt.Fprint(ctx, os.Getpid(), " ", ctx.TLSConnectionState().DidResume)
		case "/environment":
			fmt.Fprintf(ctx, "%v %q %q", IsChild(), os.Getenv(childEnv), os.Getenv(masterEnv))
		case "/protocol":
			fmt.Fprintf(ctx, "%d %s", os.Getpid(), ctx.Request.Header.Protocol())
		default:
			fmt.Fprint(ctx, os.Getpid())
		}
	}}
	if key := os.Getenv("PREFORK_TEST_TICKET_KEY"); key != "" {
		s.TLSConfig = &tls.Config{}
		s.TLSConfig.SetSessionTicketKeys([][32]byte{sha256.Sum256([]byte(key))})
	}
	if os.Getenv("PREFORK_TEST_CONFIG") == "chosen" {
		chooseConfig(s)
	}
	if os.Getenv("PREFORK_TEST_ENGINE") == "portable" {
		s.Engine = fasthttp.EnginePortable
	}
	if os.Getenv("PREFORK_TEST_HTTP2") != "" {
		s.Protocols.SetHTTP2(true)
		s.Protocols.SetUnencryptedHTTP2(true)
	}
	p := New(s)
	p.Logger = discard{}
	p.Reuseport = os.Getenv(roleEnv) == "reuseport"
	p.RecoverThreshold = 2
	p.OnMasterDeath = func() { os.Exit(5) }
	// the master listens at the address from the test
	p.OnMasterReady = func(pids []int) error {
		fmt.Println("ready", strings.Trim(fmt.Sprint(pids), "[]"))
		return nil
	}
	p.OnChildRecover = func(oldPID, newPID int) { fmt.Println("recovered", oldPID, newPID) }
	addr, dir := os.Getenv("PREFORK_TEST_ADDR"), os.Getenv("PREFORK_TEST_CERTS")
	certFile, keyFile := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	switch os.Getenv("PREFORK_TEST_TLS") {
	case "files":
		return p.ListenAndServeTLS(addr, keyFile, certFile)
	case "config":
		if err := s.AppendCert(certFile, keyFile); err != nil {
			return err
		}
		return p.ListenAndServeTLS(addr, "", "")
	case "embedded":
		cert, err := os.ReadFile(certFile)
		if err != nil {
			return err
		}
		key, err := os.ReadFile(keyFile)
		if err != nil {
			return err
		}
		return p.ListenAndServeTLSEmbed(addr, cert, key)
	}
	return p.ListenAndServe(addr)
}

type discard struct{}

func (discard) Printf(string, ...any) {}

// family is a master with children.
type family struct {
	cmd    *exec.Cmd
	lines  *bufio.Scanner
	addr   string
	tls    *tls.Config // of clients; nil if the children speak plain HTTP
	pids   []int
	stdin  io.Closer
	waited bool
}

func startFamily(t *testing.T, role, engine string) *family {
	t.Helper()
	return startFamilyOfTLS(t, role, engine, "")
}

// startFamilyOfTLS is like startFamily, with children that speak TLS. how is the
// form in which they get their certificate.
func startFamilyOfTLS(t *testing.T, role, engine, how string) *family {
	t.Helper()
	f := &family{addr: reserve(t)}
	f.cmd = exec.Command(os.Args[0])
	f.cmd.Env = append(os.Environ(), roleEnv+"="+role, "PREFORK_TEST_ADDR="+f.addr, "PREFORK_TEST_ENGINE="+engine, "GOMAXPROCS=2")
	if how != "" {
		f.tls = &tls.Config{RootCAs: x509.NewCertPool()}
		f.cmd.Env = append(f.cmd.Env, "PREFORK_TEST_TLS="+how, "PREFORK_TEST_CERTS="+writeCert(t, f.tls.RootCAs))
	}
	f.cmd.Stderr = os.Stderr
	out, err := f.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if f.stdin, err = f.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := f.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	f.lines = bufio.NewScanner(out)
	t.Cleanup(func() {
		if !f.waited {
			_ = f.cmd.Process.Kill()
			_ = f.cmd.Wait()
		}
		for _, pid := range f.pids {
			awaitEnd(t, pid)
		}
	})
	for _, field := range strings.Fields(f.line(t, "ready")) {
		pid, err := strconv.Atoi(field)
		if err != nil {
			t.Fatal(err)
		}
		f.pids = append(f.pids, pid)
	}
	return f
}

// writeCert writes a certificate and its key to files in a folder, and makes clients
// trust it.
func writeCert(t *testing.T, roots *x509.CertPool) (dir string) {
	t.Helper()
	cert, key, err := fasthttp.GenerateTestCertificate("127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	roots.AppendCertsFromPEM(cert)
	dir = t.TempDir()
	for name, data := range map[string][]byte{"cert.pem": cert, "key.pem": key} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// line returns the text that the master prints after a word.
func (f *family) line(t *testing.T, word string) string {
	t.Helper()
	if !f.lines.Scan() {
		t.Fatalf("the master has ended instead of saying %q", word)
	}
	rest, ok := strings.CutPrefix(f.lines.Text(), word+" ")
	if !ok {
		t.Fatalf("the master says %q instead of %q", f.lines.Text(), word)
	}
	return rest
}

// get sends a request to one of the children, which may not be listening yet.
func (f *family) get(t *testing.T, path string) string {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: f.tls}, Timeout: time.Minute}
	origin := "http://" + f.addr
	if f.tls != nil {
		origin = "https://" + f.addr
	}
	var answer string
	servertest.Eventually(t, "the answer of a child", func() bool {
		resp, err := client.Get(origin + path)
		if err == nil {
			defer resp.Body.Close()
			body, err := io.ReadAll(resp.Body)
			if err == nil {
				answer = string(body)
				return true
			}
		}
		return path == "/crash" && !errors.Is(err, syscall.ECONNREFUSED)
	})
	return answer
}

func (f *family) wait(t *testing.T) error {
	t.Helper()
	f.waited = true
	ended := make(chan error, 1)
	go func() { ended <- f.cmd.Wait() }()
	select {
	case err := <-ended:
		return err
	case <-time.After(time.Minute):
		_ = f.cmd.Process.Kill()
		t.Fatal("the master does not end")
		return nil
	}
}

// awaitEnd waits until a process has ended.
func awaitEnd(t *testing.T, pid int) {
	t.Helper()
	defer func() {
		if alive(pid) {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}()
	servertest.Eventually(t, fmt.Sprint("the end of process ", pid), func() bool { return !alive(pid) })
}

// alive reports whether a process is running, and not merely a zombie.
func alive(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return false
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return runtime.GOOS != "linux"
	}
	_, state, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(state, "Z")
}

var kinds = []struct{ role, engine string }{
	{"inherit", "auto"}, {"inherit", "portable"}, {"reuseport", "auto"}, {"reuseport", "portable"},
}

func TestChildrenServeAndEndGracefully(t *testing.T) {
	for _, kind := range kinds {
		t.Run(kind.role+"/"+kind.engine, func(t *testing.T) {
			f := startFamily(t, kind.role, kind.engine)
			if len(f.pids) != 2 {
				t.Errorf("there are %d children, want one for each of 2 processors", len(f.pids))
			}
			pid, err := strconv.Atoi(f.get(t, "/"))
			if err != nil || !slices.Contains(f.pids, pid) {
				t.Errorf("%d has answered, which is no child", pid)
			}
			_ = f.cmd.Process.Signal(syscall.SIGTERM)
			if err := f.wait(t); err != nil {
				t.Errorf("the master ends with %v", err)
			}
		})
	}
}

func TestChildrenSpeakTLS(t *testing.T) {
	for _, how := range []string{"files", "embedded"} {
		for _, role := range []string{"inherit", "reuseport"} {
			t.Run(role+"/"+how, func(t *testing.T) {
				f := startFamilyOfTLS(t, role, "auto", how)
				pid, err := strconv.Atoi(f.get(t, "/"))
				if err != nil || !slices.Contains(f.pids, pid) {
					t.Errorf("%d has answered, which is no child", pid)
				}
				f.get(t, "/crash")
				pids := strings.Fields(f.line(t, "recovered"))
				if pid, err = strconv.Atoi(pids[1]); err != nil {
					t.Fatal(err)
				}
				f.pids = append(f.pids, pid)
				f.get(t, "/")
				_ = f.cmd.Process.Signal(syscall.SIGTERM)
				if err := f.wait(t); err != nil {
					t.Errorf("the master ends with %v", err)
				}
			})
		}
	}
}

func TestChildrenAreReplacedUpToTheThreshold(t *testing.T) {
	for _, kind := range kinds[:1] {
		f := startFamily(t, kind.role, kind.engine)
		for range 2 {
			f.get(t, "/crash")
			pids := strings.Fields(f.line(t, "recovered"))
			pid, err := strconv.Atoi(pids[1])
			if err != nil {
				t.Fatal(err)
			}
			f.pids = append(f.pids, pid)
			f.get(t, "/")
		}
		f.get(t, "/crash")
		if err := f.wait(t); err == nil || f.cmd.ProcessState.ExitCode() != 1 {
			t.Errorf("the master ends with %v", err)
		}
	}
}

func TestChildrenLearnOfTheDeathOfTheirMaster(t *testing.T) {
	f := startFamily(t, "inherit", "auto")
	f.get(t, "/")
	_ = f.cmd.Process.Kill()
	_ = f.wait(t)
	// the cleanup waits for the children
}

// producer starts the test binary in a role, and counts.
type producer struct {
	t    *testing.T
	role string
	mu   sync.Mutex
	cmds []*exec.Cmd
}

func (p *producer) start(files []*os.File) (*exec.Cmd, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), roleEnv+"="+p.role, childEnv+"=1")
	cmd.ExtraFiles = files
	if p.role == "stubborn" {
		// the child reports when it ignores signals
		out, err := cmd.StdoutPipe()
		if err != nil {
			return nil, err
		}
		if err := cmd.Start(); err != nil {
			return nil, err
		}
		p.cmds = append(p.cmds, cmd)
		_, err = io.ReadFull(out, make([]byte, 1))
		return cmd, err
	}
	p.cmds = append(p.cmds, cmd)
	return cmd, cmd.Start()
}

func (p *producer) checkAllEnded() {
	p.t.Helper()
	for _, cmd := range p.cmds {
		if alive(cmd.Process.Pid) {
			_ = cmd.Process.Kill()
			p.t.Errorf("child %d is still there", cmd.Process.Pid)
		}
	}
}

func TestMasterGivesUpAfterTooManyCrashes(t *testing.T) {
	children := &producer{t: t, role: "crash"}
	var recovered int
	p := &Prefork{
		Logger: discard{}, CommandProducer: children.start, RecoverThreshold: 3, RecoverInterval: time.Millisecond,
		OnChildRecover: func(oldPID, newPID int) {
			if oldPID == newPID {
				t.Errorf("%d was replaced by itself", oldPID)
			}
			recovered++
		},
	}
	if err := p.ListenAndServe("127.0.0.1:0"); err != ErrOverRecovery {
		t.Errorf("got %v", err)
	}
	if recovered != 3 {
		t.Errorf("%d children were replaced, want 3", recovered)
	}
	children.checkAllEnded()
}

func TestCallbacksStopTheMaster(t *testing.T) {
	failure := errors.New("no")
	spawned := 0
	tests := []struct {
		name string
		p    Prefork
	}{
		{"OnChildSpawn", Prefork{OnChildSpawn: func(int) error { return failure }}},
		{"OnMasterReady", Prefork{OnMasterReady: func(pids []int) error {
			if len(pids) != runtime.GOMAXPROCS(0) || len(pids) != spawned {
				t.Errorf("%d children are ready, %d were started", len(pids), spawned)
			}
			return failure
		}, OnChildSpawn: func(int) error { spawned++; return nil }}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			children := &producer{t: t, role: "wait"}
			test.p.Logger, test.p.CommandProducer = discard{}, children.start
			if err := test.p.ListenAndServe("127.0.0.1:0"); err != failure {
				t.Errorf("got %v", err)
			}
			children.checkAllEnded()
		})
	}
}

func TestChildrenThatDoNotEndAreKilled(t *testing.T) {
	children := &producer{t: t, role: "stubborn"}
	failure := errors.New("enough")
	p := &Prefork{
		Logger: discard{}, CommandProducer: children.start, ShutdownGracePeriod: 10 * time.Millisecond,
		OnMasterReady: func([]int) error { return failure },
	}
	if err := p.ListenAndServe("127.0.0.1:0"); err != failure {
		t.Errorf("got %v", err)
	}
	children.checkAllEnded()
}

func TestBadCommandProducers(t *testing.T) {
	failure := errors.New("no")
	tests := []struct {
		name     string
		producer func([]*os.File) (*exec.Cmd, error)
		want     error
	}{
		{"nil", func([]*os.File) (*exec.Cmd, error) { return nil, nil }, ErrCommandProducerNilCmd},
		{"not started", func([]*os.File) (*exec.Cmd, error) { return exec.Command("true"), nil }, ErrCommandProducerNotStarted},
		{"error", func([]*os.File) (*exec.Cmd, error) { return nil, failure }, failure},
	}
	for _, test := range tests {
		p := &Prefork{Logger: discard{}, CommandProducer: test.producer}
		if err := p.ListenAndServe("127.0.0.1:0"); !errors.Is(err, test.want) {
			t.Errorf("%s: got %v, want %v", test.name, err, test.want)
		}
	}
}

func TestMasterHandsOnItsListenerAndKeepsNone(t *testing.T) {
	before := openFiles(t)
	failure := errors.New("enough")
	var handed []int
	p := &Prefork{Logger: discard{}}
	p.CommandProducer = func(files []*os.File) (*exec.Cmd, error) {
		handed = append(handed, len(files))
		return nil, failure
	}
	for _, reuseport := range []bool{false, true} {
		p.Reuseport = reuseport
		if err := p.ListenAndServe("127.0.0.1:0"); !errors.Is(err, failure) {
			t.Errorf("got %v", err)
		}
	}
	if !slices.Equal(handed, []int{1, 0}) {
		t.Errorf("children get %v files, want 1, and none with Reuseport", handed)
	}
	if after := openFiles(t); after > before {
		t.Errorf("%d files are open, %d were before", after, before)
	}
}

// Children share the mode of the socket with the master. If it were set to blocking,
// children that serve already would block in accept.
func TestListenerStaysNonblocking(t *testing.T) {
	failure := errors.New("enough")
	children := &producer{t: t, role: "wait"}
	var handed *os.File
	p := &Prefork{
		Logger: discard{},
		CommandProducer: func(files []*os.File) (*exec.Cmd, error) {
			handed = files[0]
			return children.start(files)
		},
	}
	p.OnMasterReady = func([]int) error {
		c, err := handed.SyscallConn()
		if err != nil {
			t.Error(err)
			return failure
		}
		err = c.Control(func(fd uintptr) {
			flags, err := unix.FcntlInt(fd, unix.F_GETFL, 0)
			if err != nil || flags&unix.O_NONBLOCK == 0 {
				t.Errorf("the flags are %#x, %v: the listener blocks", flags, err)
			}
		})
		if err != nil {
			t.Error(err)
		}
		return failure
	}
	if err := p.ListenAndServe("127.0.0.1:0"); err != failure {
		t.Errorf("got %v", err)
	}
	children.checkAllEnded()
}

func openFiles(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/dev/fd")
	if err != nil {
		t.Skipf("open files cannot be counted here: %v", err)
	}
	return len(entries)
}

func TestMasterFailsWhereItCannotListen(t *testing.T) {
	for _, p := range []*Prefork{{Network: "udp"}, {Network: "unix"}, {}} {
		addr := "127.0.0.1:0"
		if p.Network == "" {
			addr = "256.0.0.1:0"
		}
		p.CommandProducer = func([]*os.File) (*exec.Cmd, error) {
			t.Error("a child was started")
			return nil, nil
		}
		if err := p.ListenAndServe(addr); err == nil {
			t.Errorf("%q: no error", p.Network)
		}
	}
}

func TestNewTakesOverTheServer(t *testing.T) {
	logger := discard{}
	p := New(&fasthttp.Server{Logger: logger})
	if p.Network != "tcp4" || p.RecoverThreshold != max(1, runtime.GOMAXPROCS(0)/2) || p.Logger != Logger(logger) ||
		p.ServeFunc == nil || p.ServeTLSFunc == nil || p.ServeTLSEmbedFunc == nil {
		t.Errorf("got %+v", p)
	}
	if p := New(&fasthttp.Server{}); p.Logger != nil {
		t.Errorf("the logger is %v", p.Logger)
	}
}

func TestChildIsToldByTheEnvironment(t *testing.T) {
	for value, want := range map[string]bool{"1": true, "": false, "0": false} {
		t.Setenv(childEnv, value)
		if IsChild() != want {
			t.Errorf("%s=%q: IsChild is %v", childEnv, value, !want)
		}
	}
}

// A program that a child starts, such as this one again, is no child.
func TestProgramsThatAChildStartsAreNoChildren(t *testing.T) {
	f := startFamily(t, "inherit", "auto")
	if got, want := f.get(t, "/environment"), `true "" ""`; got != want {
		t.Errorf("IsChild and the environment in a child are %s, want %s", got, want)
	}
	_ = f.cmd.Process.Signal(syscall.SIGTERM)
	if err := f.wait(t); err != nil {
		t.Errorf("the master ends with %v", err)
	}
}

// TestChildrenMayHaveTheSameProcessID has a child that has ended, and another one to which the system
// has given its process id before it was replaced.
func TestChildrenMayHaveTheSameProcessID(t *testing.T) {
	const free = 1 << 30 // more than any system has
	p := &Prefork{Logger: discard{}, CommandProducer: func([]*os.File) (*exec.Cmd, error) {
		return &exec.Cmd{Process: &os.Process{Pid: free}}, nil
	}}
	m := newMaster(p)
	for range 2 {
		if pid, err := m.spawn(); pid != free || err != nil {
			t.Errorf("process %d, %v", pid, err)
		}
	}
	if n := len(m.children); n != 2 {
		t.Errorf("the master knows %d children, want 2", n)
	}
	m.stop()
	if n := len(m.children); n != 0 {
		t.Errorf("the master has stopped without the end of %d children", n)
	}
}

func TestMasterIsWatchedUntilItIsGone(t *testing.T) {
	called := make(chan struct{})
	p := &Prefork{OnMasterDeath: func() { close(called) }}
	p.watchMaster(1, func() int { return 2 }, nil)
	servertest.Receive(t, "the call of OnMasterDeath", called)
	stop := make(chan struct{})
	close(stop)
	p.OnMasterDeath = func() { t.Error("called though the child has ended first") }
	p.watchMaster(1, func() int { return 1 }, stop)
}

func ignoreSIGTERM() {
	signal.Ignore(syscall.SIGTERM)
	fmt.Print("!")
	select {}
}
