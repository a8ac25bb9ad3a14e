package prefork

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"time"

	"github.com/valyala/fasthttp/internal/servertls"
)

// ticketsEnv is, in the environment of a child, the descriptor of a pipe with the keys of
// session tickets. A key in the environment itself would reach every program that the
// child starts.
const ticketsEnv = "FASTHTTP_PREFORK_TICKETS"

// shareTickets makes all children use the same keys of session tickets. A child that does not
// receive them has its own keys.
func (p *Prefork) shareTickets() {
	switch {
	case p.server == nil || runtime.GOOS == "windows":
		// there a child inherits only its standard files
	case !IsChild():
		p.tickets = servertls.New(time.Now())
	case os.Getenv(ticketsEnv) != "":
		if err := p.takeTickets(); err != nil {
			p.logger().Printf("prefork: clients resume their TLS sessions with this child alone: %v", err)
		}
	}
}

// giveTickets adds a pipe with the keys to the command of a child. given closes the end
// of this process, after the start.
func (p *Prefork) giveTickets(cmd *exec.Cmd) (given func(), err error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	// there is room for more than that
	_, err = w.Write(p.tickets.Export(time.Now()))
	if closed := w.Close(); err == nil {
		err = closed
	}
	if err != nil {
		_ = r.Close()
		return nil, err
	}
	cmd.Env = append(cmd.Env, ticketsEnv+"="+strconv.Itoa(inheritedFD+len(cmd.ExtraFiles)))
	cmd.ExtraFiles = append(cmd.ExtraFiles[:len(cmd.ExtraFiles):len(cmd.ExtraFiles)], r)
	return func() { _ = r.Close() }, nil
}

// takeTickets takes over the keys that giveTickets has given.
func (p *Prefork) takeTickets() error {
	fd, err := strconv.Atoi(os.Getenv(ticketsEnv))
	if err != nil || fd < inheritedFD {
		return fmt.Errorf("prefork: %s is no descriptor", ticketsEnv)
	}
	// the number means nothing to programs that this one starts
	if err := os.Unsetenv(ticketsEnv); err != nil {
		return err
	}
	f := os.NewFile(uintptr(fd), "tickets")
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, servertls.ExportedSize+1))
	if err != nil {
		return err
	}
	keys, err := servertls.ImportKeys(b)
	if err == nil {
		servertls.Inherit(p.server, keys)
	}
	return err
}
