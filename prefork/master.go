package prefork

import (
	"fmt"
	"log"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strconv"
	"syscall"
	"time"

	"github.com/valyala/fasthttp/internal/netio"
)

// master is the process that supervises the children. One goroutine does all the work,
// except that another goroutine for each child waits for its end.
type master struct {
	*Prefork
	files    []*os.File         // the files that children inherit
	children map[*exec.Cmd]bool // not by process id, which the system may give to the next child
	ended    chan childEnd
	stopping chan struct{} // closed when children are not replaced any more
	crashes  int
}

// childEnd reports that a child has ended, and that it is time to replace it.
type childEnd struct {
	cmd   *exec.Cmd
	state string
}

func newMaster(p *Prefork) *master {
	return &master{
		Prefork:  p,
		children: make(map[*exec.Cmd]bool),
		ended:    make(chan childEnd),
		stopping: make(chan struct{}),
	}
}

// watchChildren runs the master.
func (p *Prefork) watchChildren(addr string) error {
	m := newMaster(p)
	if !p.Reuseport {
		if err := m.listen(addr); err != nil {
			return err
		}
		defer m.closeFiles()
	}
	// from now on a signal ends the children, too
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM, os.Interrupt)
	defer signal.Stop(signals)
	defer m.stop()

	for range runtime.GOMAXPROCS(0) {
		if _, err := m.spawn(); err != nil {
			return err
		}
	}
	if p.OnMasterReady != nil {
		pids := make([]int, 0, len(m.children))
		for cmd := range m.children {
			pids = append(pids, cmd.Process.Pid)
		}
		if err := p.OnMasterReady(pids); err != nil {
			return err
		}
	}
	for {
		select {
		case <-signals:
			return nil
		case end := <-m.ended:
			if err := m.replace(end); err != nil {
				return err
			}
		}
	}
}

// listen makes the listener that the children inherit.
func (m *master) listen(addr string) error {
	ln, err := net.Listen(m.network(), addr)
	if err != nil {
		return fmt.Errorf("prefork: %w", err)
	}
	// the file is a copy; the listener is not needed any more
	defer ln.Close()
	tcp, ok := ln.(*net.TCPListener)
	if !ok {
		return fmt.Errorf("prefork: the network must be tcp, tcp4 or tcp6: %w", net.UnknownNetworkError(m.network()))
	}
	f, err := netio.CopySocket(tcp)
	if err != nil {
		return fmt.Errorf("prefork: %w", err)
	}
	m.files = []*os.File{f}
	return nil
}

func (m *master) closeFiles() {
	for _, f := range m.files {
		_ = f.Close()
	}
}

// spawn starts a child.
func (m *master) spawn() (pid int, err error) {
	cmd, err := m.command()
	if err != nil {
		return 0, err
	}
	pid = cmd.Process.Pid
	m.children[cmd] = true
	go m.wait(cmd)
	if m.OnChildSpawn != nil {
		if err := m.OnChildSpawn(pid); err != nil {
			return 0, err
		}
	}
	return pid, nil
}

func (m *master) command() (*exec.Cmd, error) {
	produce := m.CommandProducer
	if produce == nil {
		produce = m.startSelf
	}
	cmd, err := produce(m.files)
	switch {
	case err != nil:
		return nil, fmt.Errorf("prefork: cannot start a child: %w", err)
	case cmd == nil:
		return nil, ErrCommandProducerNilCmd
	case cmd.Process == nil:
		return nil, ErrCommandProducerNotStarted
	}
	return cmd, nil
}

// startSelf starts this program again, as a child.
func (m *master) startSelf(files []*os.File) (*exec.Cmd, error) {
	name, err := os.Executable()
	if err != nil {
		name = os.Args[0]
	}
	cmd := exec.Command(name, os.Args[1:]...)
	cmd.Args[0] = os.Args[0]
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.Env = append(os.Environ(), childEnv+"=1", masterEnv+"="+strconv.Itoa(os.Getpid()))
	cmd.ExtraFiles = files
	if m.tickets != nil {
		given, err := m.giveTickets(cmd)
		if err != nil {
			return nil, err
		}
		defer given()
	}
	return cmd, cmd.Start()
}

// wait waits for a child to end, and then for the time to replace it.
func (m *master) wait(cmd *exec.Cmd) {
	_ = cmd.Wait()
	if m.RecoverInterval > 0 {
		timer := time.NewTimer(m.RecoverInterval)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-m.stopping:
		}
	}
	m.ended <- childEnd{cmd, cmd.ProcessState.String()}
}

// replace starts a child to replace one that has ended.
func (m *master) replace(end childEnd) error {
	delete(m.children, end.cmd)
	m.crashes++
	old := end.cmd.Process.Pid
	m.logger().Printf("prefork: child %d has ended: %s", old, end.state)
	if m.crashes > m.RecoverThreshold {
		m.logger().Printf("prefork: %d children have ended, more than the %d that are replaced", m.crashes, m.RecoverThreshold)
		return ErrOverRecovery
	}
	pid, err := m.spawn()
	if err != nil {
		return err
	}
	if m.OnChildRecover != nil {
		m.OnChildRecover(old, pid)
	}
	return nil
}

// stop ends all children and waits for them.
func (m *master) stop() {
	close(m.stopping)
	for cmd := range m.children {
		terminate(cmd.Process)
	}
	grace := m.ShutdownGracePeriod
	if grace <= 0 {
		grace = defaultGracePeriod
	}
	timer := time.NewTimer(grace)
	defer timer.Stop()
	for len(m.children) > 0 {
		select {
		case end := <-m.ended:
			delete(m.children, end.cmd)
		case <-timer.C:
			for cmd := range m.children {
				m.logger().Printf("prefork: child %d did not end in %v and is killed", cmd.Process.Pid, grace)
				_ = cmd.Process.Kill()
			}
		}
	}
}

var defaultLogger = log.New(os.Stderr, "", log.LstdFlags)

func (p *Prefork) logger() Logger {
	if p.Logger == nil {
		return defaultLogger
	}
	return p.Logger
}
