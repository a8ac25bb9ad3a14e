//go:build unix

// Command bench compares the processor time and the allocations of a request with HTTP/3: of this
// module, and of quic-go's http3 with a handler of net/http. A third server responds with the same
// number of bytes without HTTP, on streams of quic-go: the rest is the server's own share.
//
// Each server is a process of its own, and one client sends the same bytes to each in turn. The
// figures are medians of the rounds.
//
//	go run ./bench
package main

import (
	"flag"
	"fmt"
	"log"
	"os"
	"slices"
	"strings"
	"time"
)

var (
	rounds  = flag.Int("rounds", 9, "rounds; the median counts")
	period  = flag.Duration("time", 300*time.Millisecond, "time of each measurement")
	idle    = flag.Int("idle", 200, "idle connections whose memory is measured")
	only    = flag.String("only", "", "a part of the names of the loads to run")
	table   = flag.Uint("table", 0, "size of the QPACK table of the client, and of the server fasthttp")
	role    = flag.String("serve", "", "internal: be this server")
	profile = flag.String("profile", "", "write the profile of the server fasthttp to a file, and run no other")
)

func main() {
	flag.Parse()
	if *role != "" {
		if err := serve(*role, *profile); err != nil {
			log.Fatal(err)
		}
		return
	}
	if err := compare(); err != nil {
		log.Fatal(err)
	}
}

// load is a kind of request, and how many there are at once.
type load struct {
	name    string
	request []byte
	at      int
}

func loads() (all []load) {
	for _, of := range []load{
		{"GET", request("GET", "/", nil), 0},
		{"POST 1 KiB", request("POST", "/post", make([]byte, 1<<10)), 0},
		{"GET 64 KiB", request("GET", "/large", nil), 0},
	} {
		for _, at := range []int{1, 16, 64} {
			all = append(all, load{fmt.Sprintf("%s, %d", of.name, at), of.request, at})
		}
	}
	return all
}

// names are the servers in the order of the columns.
var names = []string{"fasthttp", "net/http", "transport"}

func compare() error {
	var all []*server
	defer func() {
		for _, s := range all {
			s.stop()
		}
	}()
	for _, name := range names {
		s, err := start(name)
		if err != nil {
			return err
		}
		if all = append(all, s); *profile != "" {
			break
		}
	}
	fmt.Printf("%-16s %-38s %-38s %s\n", "", " processor time, µs a request", " allocations (bytes) a request", " fasthttp to net/http:")
	fmt.Printf("%-16s", "load, streams")
	for range 2 {
		for _, s := range all {
			fmt.Printf(" %12s", s.name)
		}
	}
	fmt.Printf(" %7s %12s\n", "all", "above QUIC")
	for _, l := range loads() {
		if !strings.Contains(l.name, *only) {
			continue
		}
		if err := row(all, l); err != nil {
			return fmt.Errorf("%s: %w", l.name, err)
		}
	}
	return memory(all)
}

// row measures one load.
func row(all []*server, l load) error {
	costs := make(map[string][]cost)
	for range *rounds {
		for _, s := range all {
			c, err := s.measure(l)
			if err != nil {
				return fmt.Errorf("%s: %w", s.name, err)
			}
			costs[s.name] = append(costs[s.name], c)
			if s.name == "fasthttp" {
				respondLike(all, c.response)
			}
		}
	}
	fmt.Printf("%-16s", l.name)
	of := make(map[string]float64)
	for _, s := range all {
		of[s.name] = median(costs[s.name], func(c cost) float64 { return c.cpu })
		fmt.Printf(" %12.1f", of[s.name])
	}
	for _, s := range all {
		n := median(costs[s.name], func(c cost) float64 { return c.mallocs })
		b := median(costs[s.name], func(c cost) float64 { return c.bytes })
		fmt.Printf(" %12s", fmt.Sprintf("%.1f (%.0f)", n, b))
	}
	if len(all) == len(names) {
		floor := of["transport"]
		fmt.Printf(" %7.2f %12.2f", of["fasthttp"]/of["net/http"], (of["fasthttp"]-floor)/(of["net/http"]-floor))
	}
	fmt.Println()
	return nil
}

// respondLike makes the server without HTTP respond with as many bytes as another one.
func respondLike(all []*server, n int) {
	for _, s := range all {
		if s.name == "transport" {
			if _, err := s.ask(fmt.Sprintf("respond %d", n)); err != nil {
				log.Fatal(err)
			}
		}
	}
}

func median(costs []cost, of func(cost) float64) float64 {
	values := make([]float64, 0, len(costs))
	for _, c := range costs {
		values = append(values, of(c))
	}
	slices.Sort(values)
	return values[len(values)/2]
}

// memory measures idle connections.
func memory(all []*server) error {
	for _, s := range all {
		n, err := s.idleMemory(*idle)
		if err != nil {
			return err
		}
		fmt.Fprintf(os.Stdout, "%s: an idle connection takes %.1f KiB\n", s.name, n/1024)
	}
	return nil
}
