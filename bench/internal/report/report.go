// Package report gathers the results of many benchmark runs, compares the
// builds row by row, and writes the comparison as Markdown or JSON.
package report

import (
	"cmp"
	"slices"
	"strings"

	"github.com/valyala/fasthttp/bench/internal/gobench"
	"github.com/valyala/fasthttp/bench/internal/stats"
)

// The builds that are compared. Each row has one Measurement for every build that has the
// benchmark.
const (
	Ours     = "ours"
	Upstream = "upstream"
	NetHTTP  = "net/http"
)

// others are the builds that ours is compared with.
var others = []string{Upstream, NetHTTP}

// twinPrefix begins the name of a benchmark that measures net/http.
const twinPrefix = "NetHTTP"

// TwinName returns the name of the net/http benchmark that corresponds to the fasthttp
// benchmark name.
func TwinName(name string) string { return twinPrefix + name }

// IsTwin reports whether the benchmark measures net/http.
func IsTwin(name string) bool { return strings.HasPrefix(name, twinPrefix) }

// IsServer reports whether a row measures a whole server, not a single call.
func IsServer(name string) bool {
	group := Group(name)
	return group == VariedServers || group == Servers || group == HTTP2Servers
}

// IsHTTP2 reports whether a row needs HTTP/2, which upstream lacks.
func IsHTTP2(name string) bool { return lacksUpstream(Group(name)) }

func lacksUpstream(group string) bool { return group == HTTP2Servers || group == HTTP2Clients }

// The groups of rows, in the order of their tables. In the varied groups each message has
// another head than the one before; in the other groups of servers and clients all messages
// are the same.
const (
	VariedServers = "Servers, varied requests"
	Servers       = "Servers, repeated requests"
	HTTP2Servers  = "Servers, HTTP/2"
	TLSServers    = "Servers and their clients, TLS"
	VariedClients = "Clients, varied messages"
	Clients       = "Clients, repeated messages"
	HTTP2Clients  = "Clients, HTTP/2"
	Values        = "Values"
	Compression   = "Compression"
	Files         = "Files"
)

var groupOrder = []string{VariedServers, Servers, HTTP2Servers, TLSServers, VariedClients, Clients, HTTP2Clients, Values, Compression, Files}

// groupPrefixes maps prefixes of the names of rows to groups; all other rows are in Values.
var groupPrefixes = []struct{ prefix, group string }{
	{"Server", Servers},
	{"HTTP2Server", HTTP2Servers},
	{"HTTP2Client", HTTP2Clients},
	{"TLSServer", TLSServers},
	{"Client", Clients},
	{"PipelineClient", Clients},
	{"AppendEncoded", Compression},
	{"AppendDecoded", Compression},
	{"Compress", Compression},
	{"WriteGzip", Compression},
	{"Files", Files},
}

// variedGroups are the groups of rows with varied messages.
var variedGroups = map[string]string{Servers: VariedServers, Clients: VariedClients}

// Group returns the group that a row is in.
func Group(name string) string {
	for _, g := range groupPrefixes {
		if strings.HasPrefix(name, g.prefix) {
			if strings.Contains(name, "Varied") || strings.Contains(name, "Proxied") {
				return cmp.Or(variedGroups[g.group], g.group)
			}
			return g.group
		}
	}
	return Values
}

// Report is a whole comparison.
type Report struct {
	Head
	Benchtime string `json:"benchtime"`
	Rows      []*Row `json:"rows"`
	Means     []Mean `json:"geometric_means"`
}

// Head is the common beginning of all reports.
type Head struct {
	Machine  Machine           `json:"machine"`
	Versions map[string]string `json:"versions"` // by build or server
	Date     string            `json:"date"`
	Rounds   int               `json:"rounds"`
	Failures []string          `json:"failures,omitempty"` // of runs
	Runs     int               `json:"runs"`
}

// Machine is the machine on which the figures were taken.
type Machine struct {
	OS     string `json:"os"`
	Arch   string `json:"arch"`
	Kernel string `json:"kernel"`
	CPU    string `json:"cpu"`
	Cores  int    `json:"cores"`
	Go     string `json:"go"`
}

// Row is one benchmark at one GOMAXPROCS.
type Row struct {
	Name   string                  `json:"name"`
	Procs  int                     `json:"gomaxprocs"`
	Builds map[string]*Measurement `json:"builds"`
	// Ratios are the other builds' medians of ns/op over ours: more than 1
	// means that ours is faster.
	Ratios map[string]float64 `json:"ratios"`
	// CPURatios are the same ratios for processor time, if it was reported.
	CPURatios map[string]float64 `json:"cpu_ratios"`
}

// Measurement summarizes all runs of one benchmark in one build.
type Measurement struct {
	NsPerOp     stats.Summary `json:"ns_per_op"`
	CPUNsPerOp  stats.Summary `json:"cpu_ns_per_op"`
	BytesPerOp  stats.Summary `json:"bytes_per_op"`
	AllocsPerOp stats.Summary `json:"allocs_per_op"`
}

// Mean is the geometric mean of the ratios in a group of rows.
type Mean struct {
	Group     string             `json:"group"`
	Procs     int                `json:"gomaxprocs"`
	Ratios    map[string]float64 `json:"ratios"`
	CPURatios map[string]float64 `json:"cpu_ratios"`
}

// Collector collects results.
type Collector struct {
	rows    []*Row
	samples map[sampleKey][]gobench.Result
}

type sampleKey struct {
	row   *Row
	build string
}

// NewCollector returns an empty Collector.
func NewCollector() *Collector {
	return &Collector{samples: map[sampleKey][]gobench.Result{}}
}

// Add adds one result. The result of a net/http twin is added to the row of its fasthttp
// benchmark. Rows keep the order of their first results.
func (c *Collector) Add(build string, result gobench.Result) {
	name := result.Name
	if build == NetHTTP {
		name = strings.TrimPrefix(name, twinPrefix)
	}
	i := slices.IndexFunc(c.rows, func(r *Row) bool { return r.Name == name && r.Procs == result.Procs })
	if i < 0 {
		i = len(c.rows)
		c.rows = append(c.rows, &Row{Name: name, Procs: result.Procs})
	}
	key := sampleKey{c.rows[i], build}
	c.samples[key] = append(c.samples[key], result)
}

// Finish fills in the rows, their ratios and the means.
func (c *Collector) Finish(r *Report) {
	r.Rows = c.rows
	for _, row := range r.Rows {
		row.Builds = map[string]*Measurement{}
		for _, build := range append([]string{Ours}, others...) {
			if results := c.samples[sampleKey{row, build}]; len(results) > 0 {
				row.Builds[build] = measure(results)
			}
		}
		row.Ratios = row.ratios(clockTime)
		row.CPURatios = row.ratios(cpuTime)
	}
	r.Means = nil
	for _, group := range groups(r.Rows) {
		r.Means = append(r.Means, group.mean())
	}
}

func measure(results []gobench.Result) *Measurement {
	var ns, cpu, bytes, allocs []float64
	for _, result := range results {
		ns = append(ns, result.NsPerOp)
		cpu = append(cpu, result.CPUNsPerOp)
		bytes = append(bytes, result.BytesPerOp)
		allocs = append(allocs, result.AllocsPerOp)
	}
	return &Measurement{
		NsPerOp:     stats.Summarize(ns),
		CPUNsPerOp:  stats.Summarize(cpu),
		BytesPerOp:  stats.Summarize(bytes),
		AllocsPerOp: stats.Summarize(allocs),
	}
}

// quantity picks one of a measurement's figures.
type quantity func(*Measurement) stats.Summary

func clockTime(m *Measurement) stats.Summary   { return m.NsPerOp }
func cpuTime(m *Measurement) stats.Summary     { return m.CPUNsPerOp }
func bytesPerOp(m *Measurement) stats.Summary  { return m.BytesPerOp }
func allocsPerOp(m *Measurement) stats.Summary { return m.AllocsPerOp }

// Certain reports whether the ranges of ours and of the other build do not overlap, so that
// their difference is not chance.
func (row *Row) Certain(other string) bool {
	ours, m := row.Builds[Ours], row.Builds[other]
	return ours != nil && m != nil && !ours.NsPerOp.Overlaps(m.NsPerOp)
}

// ratios compares the medians of one quantity if both sides have it.
func (row *Row) ratios(of quantity) map[string]float64 {
	ratios := map[string]float64{}
	ours := row.Builds[Ours]
	if ours == nil {
		return ratios
	}
	for _, other := range others {
		m := row.Builds[other]
		if m == nil {
			continue
		}
		if ratio := stats.Ratio(of(m).Median, of(ours).Median); ratio > 0 {
			ratios[other] = ratio
		}
	}
	return ratios
}

// group is the rows of one table.
type group struct {
	title string
	procs int
	rows  []*Row
}

// groups puts rows into their tables, those with few processors before those
// with many.
func groups(rows []*Row) []group {
	var list []group
	for _, row := range rows {
		title := Group(row.Name)
		i := slices.IndexFunc(list, func(g group) bool { return g.title == title && g.procs == row.Procs })
		if i < 0 {
			i = len(list)
			list = append(list, group{title: title, procs: row.Procs})
		}
		list[i].rows = append(list[i].rows, row)
	}
	slices.SortStableFunc(list, func(a, b group) int {
		return cmp.Or(
			cmp.Compare(slices.Index(groupOrder, a.title), slices.Index(groupOrder, b.title)),
			cmp.Compare(a.procs, b.procs))
	})
	return list
}

func (g group) mean() Mean {
	return Mean{
		Group:     g.title,
		Procs:     g.procs,
		Ratios:    g.means(func(row *Row) map[string]float64 { return row.Ratios }),
		CPURatios: g.means(func(row *Row) map[string]float64 { return row.CPURatios }),
	}
}

func (g group) means(of func(*Row) map[string]float64) map[string]float64 {
	means := map[string]float64{}
	for _, other := range others {
		var ratios []float64
		for _, row := range g.rows {
			if ratio, ok := of(row)[other]; ok {
				ratios = append(ratios, ratio)
			}
		}
		if len(ratios) > 0 {
			means[other] = stats.GeoMean(ratios)
		}
	}
	return means
}
