package idle

import (
	"fmt"
	"strings"

	"github.com/valyala/fasthttp/bench/internal/rig"
	"github.com/valyala/fasthttp/bench/internal/stats"
)

// residentGoal is the most that an idle connection may add to the memory of the
// event engine's process, in bytes.
const residentGoal = 400

// TLSGoal is the most that an idle connection over TLS may add to the heap and the stacks of
// the event engine's process, in bytes. Most of that belongs to crypto/tls.
const TLSGoal = 8 << 10

// HTTP2Goal is the most that an idle connection of HTTP/2 may add to the memory of the event
// engine's process, in bytes.
const HTTP2Goal = 1600

// Report is a whole comparison.
type Report struct {
	rig.Head
	Conns    int            `json:"connections"` // of all processes
	Procs    int            `json:"server_processes"`
	Speaks   Protocol       `json:"protocol"`
	Clients  int            `json:"client_processes"`
	Servers  []*Measurement `json:"servers"`
	Goal     *Goal          `json:"goal,omitempty"`
	Failures []string       `json:"failures,omitempty"`
}

// Measurement summarizes all rounds with one server. The figures are for one connection,
// except for the total.
type Measurement struct {
	Server     string        `json:"server"`
	Resident   stats.Summary `json:"resident_bytes"`
	Heap       stats.Summary `json:"heap_bytes"`
	Stack      stats.Summary `json:"stack_bytes"`
	Goroutines stats.Summary `json:"goroutines"`
	Total      stats.Summary `json:"total_resident_bytes"`
	// Ratio is the ratio of the resident bytes to upstream's, or, with HTTP/2, to net/http's.
	Ratio rig.Ratio `json:"resident_ratio"`
}

// InUse is how many bytes of heap and stacks a connection takes.
func (m *Measurement) InUse() float64 { return m.Heap.Median + m.Stack.Median }

// Goal is the goal for the event engine: resident bytes, or, over TLS, bytes of heap and
// stacks.
type Goal struct {
	Of   string  `json:"of"`
	Most float64 `json:"most_bytes"`
	Has  float64 `json:"bytes"`
	Met  bool    `json:"met"`
}

// goal judges the event engine.
func (r *Report) goal(m *Measurement) *Goal {
	g := &Goal{Of: "resident bytes", Most: residentGoal, Has: m.Resident.Median}
	switch r.Speaks {
	case HTTP2:
		g.Most = HTTP2Goal
	case TLS:
		g = &Goal{Of: "bytes of heap and stacks", Most: TLSGoal, Has: m.InUse()}
	}
	g.Met = g.Has <= g.Most
	return g
}

func (s *session) report() *Report {
	r := &Report{
		Head:     rig.NewHead(s.servers, s.rounds),
		Conns:    s.conns * s.procs,
		Procs:    s.procs,
		Speaks:   s.speaks,
		Clients:  len(s.crowds),
		Failures: s.failures,
	}
	var base *Measurement
	for _, server := range s.servers {
		samples := s.samples[server.Name]
		if len(samples) == 0 {
			continue
		}
		m := summarize(server.Name, samples)
		r.Servers = append(r.Servers, m)
		switch server.Name {
		case r.base():
			base = m
		case rig.Event:
			r.Goal = r.goal(m)
		}
	}
	for _, m := range r.Servers {
		if base != nil && m != base {
			m.Ratio = rig.NewRatio(m.Resident, base.Resident)
		}
	}
	return r
}

// base is the server that the others are compared with.
func (r *Report) base() string {
	if r.Speaks == HTTP2 {
		return rig.NetHTTP
	}
	return rig.Upstream
}

func summarize(server string, samples []sample) *Measurement {
	var resident, heap, stack, goroutines, total []float64
	for _, s := range samples {
		resident, heap, stack = append(resident, s.resident), append(heap, s.heap), append(stack, s.stack)
		goroutines, total = append(goroutines, s.goroutines), append(total, s.total)
	}
	return &Measurement{
		Server:     server,
		Resident:   stats.Summarize(resident),
		Heap:       stats.Summarize(heap),
		Stack:      stats.Summarize(stack),
		Goroutines: stats.Summarize(goroutines),
		Total:      stats.Summarize(total),
	}
}

// Markdown returns the comparison as Markdown.
func (r *Report) Markdown() string {
	var b strings.Builder
	processes := "1 server process"
	if r.Procs > 1 {
		processes = fmt.Sprintf("%d server processes that share a port", r.Procs)
	}
	title := "Idle connections"
	switch r.Speaks {
	case TLS:
		title += " over TLS"
	case HTTP2:
		title += " of HTTP/2"
	}
	r.WriteMarkdown(&b, title,
		fmt.Sprintf("%s, %s", rig.Plural(r.Conns, "connection"), processes))
	b.WriteString("\nEach connection had one request and waits for the next. Figures are medians: what came with the\n" +
		"connections, after garbage collection, divided by their number. Resident is VmRSS ± the median absolute\n" +
		"deviation; it holds heap and stacks. The kernel's own memory for sockets is not in it, and is the same for\n" +
		"all. A ratio is in parentheses where the two ranges of samples overlap, so that the difference may be\n" +
		"chance.\n")
	r.WriteTable(&b)
	if g := r.Goal; g != nil {
		fmt.Fprintf(&b, "\nGoal of the event engine: at most %.0f %s for a connection. It has %.0f: %s.\n", g.Most, g.Of, g.Has, rig.Met(g.Met))
	}
	rig.WriteFailures(&b, r.Failures)
	return b.String()
}

// WriteTable writes the table of all servers.
func (r *Report) WriteTable(b *strings.Builder) {
	table := rig.Table{Header: []string{
		"server", "resident bytes/connection", "heap bytes/connection", "stack bytes/connection", "goroutines/connection", "resident in total", "resident ÷ " + r.base(),
	}}
	for _, m := range r.Servers {
		table.Rows = append(table.Rows, []string{
			m.Server,
			fmt.Sprintf("%.0f ±%.0f%%", m.Resident.Median, 100*m.Resident.Spread()),
			fmt.Sprintf("%.0f", m.Heap.Median),
			fmt.Sprintf("%.0f", m.Stack.Median),
			fmt.Sprintf("%.2f", m.Goroutines.Median),
			fmt.Sprintf("%.1f MiB", m.Total.Median/(1<<20)),
			m.Ratio.String(),
		})
	}
	table.Write(b)
}
