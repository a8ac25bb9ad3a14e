package idle

import (
	"fmt"
	"strings"

	"github.com/valyala/fasthttp/bench/internal/markdown"
	"github.com/valyala/fasthttp/bench/internal/report"
	"github.com/valyala/fasthttp/bench/internal/rig"
)

// FillReport reports how many connections a machine held.
type FillReport struct {
	report.Head
	Servers []*Filled `json:"servers"`
}

// Filled is the result of one server. Figures of memory are bytes for each connection, except
// for the total.
type Filled struct {
	Server      string  `json:"server"`
	Asked       int     `json:"asked"`
	Limit       string  `json:"limited_by"`
	Processes   int     `json:"server_processes"`
	Clients     int     `json:"client_processes"`
	Held        int     `json:"held"`
	Failed      int     `json:"failed"`          // failed connections and requests
	Wrong       string  `json:"wrong,omitempty"` // the first error
	OpenRate    float64 `json:"opened_per_second"`
	RequestRate float64 `json:"requests_per_second"`
	CPU         float64 `json:"cpu_us_per_request"` // of all server processes
	User        float64 `json:"server_resident_bytes"`
	Kernel      float64 `json:"kernel_bytes"` // both ends
	Client      float64 `json:"client_resident_bytes"`
	Total       int64   `json:"total_bytes"`
	Seconds     float64 `json:"seconds"`
}

// add appends the result of a server: a row, or an error.
func (r *FillReport) add(server string, row *Filled, err error) {
	r.Runs++
	if err == nil {
		row.Server = server
		r.Servers = append(r.Servers, row)
		if row.Failed == 0 {
			return
		}
		err = fmt.Errorf("%s, the first: %s", markdown.Plural(row.Failed, "failure"), row.Wrong)
	}
	r.Failures = append(r.Failures, fmt.Sprintf("%s: %v", server, err))
}

// FillNote explains the columns of WriteTable.
const FillNote = "All connections are kept alive, and go to processes with GOMAXPROCS 1 that share a port. Each had one\n" +
	"request when it was opened, which is a part of the rate of opening. When all were open, one more request was\n" +
	"sent over each; requests/s and CPU, the processor time of all server processes, are of these. The clients\n" +
	"are processes on the same machine and compete for its cores. User is what the server processes hold more for\n" +
	"a connection (VmRSS, after garbage collection); kernel is what SUnreclaim in /proc/meminfo grew by, and\n" +
	"2 KiB for inodes, for both ends of the connection. The total has all processes, those of the clients as well,\n" +
	"and the kernel.\n"

// Markdown returns the report as Markdown.
func (r *FillReport) Markdown() string {
	var b strings.Builder
	r.WriteHead(&b, "As many connections as fit", rig.Usual)
	b.WriteString("\n" + FillNote)
	r.WriteTable(&b)
	markdown.WriteFailures(&b, r.Failures)
	return b.String()
}

// WriteTable writes the table of all servers, with the limit that each has reached.
func (r *FillReport) WriteTable(b *strings.Builder) {
	table := markdown.Table{Header: []string{
		"server", "connections held", "failures", "server processes", "opened/s", "requests/s", "CPU µs/request",
		"user bytes/connection", "kernel bytes/connection", "clients' bytes/connection", "memory in total", "took",
	}}
	for _, m := range r.Servers {
		table.Rows = append(table.Rows, []string{
			m.Server,
			fmt.Sprint(m.Held),
			fmt.Sprint(m.Failed),
			fmt.Sprint(m.Processes),
			fmt.Sprintf("%.0f", m.OpenRate),
			fmt.Sprintf("%.0f", m.RequestRate),
			fmt.Sprintf("%.2f", m.CPU),
			fmt.Sprintf("%.0f", m.User),
			fmt.Sprintf("%.0f", m.Kernel),
			fmt.Sprintf("%.0f", m.Client),
			gib(m.Total),
			fmt.Sprintf("%.0f s", m.Seconds),
		})
	}
	table.Write(b)
	if len(r.Servers) > 0 {
		b.WriteString("\nWhat set the number of connections:\n\n")
	}
	for _, m := range r.Servers {
		fmt.Fprintf(b, "- %s: %s\n", m.Server, m.Limit)
	}
}
