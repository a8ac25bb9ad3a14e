package main

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/compat/internal/report"
)

type member struct {
	name    string
	pending int
	err     error
	log     *[]string
}

func (m *member) PendingRequests() int { return m.pending }

func (m *member) DoDeadline(_ *fasthttp.Request, _ *fasthttp.Response, deadline time.Time) error {
	*m.log = append(*m.log, m.name+upTo(time.Until(deadline)))
	return m.err
}

// upTo returns the smallest of the timeouts of this program that left may be the rest of.
func upTo(left time.Duration) string {
	for _, timeout := range []time.Duration{time.Second, 30 * time.Second, time.Minute} {
		if left <= timeout {
			return timeout.String()
		}
	}
	return left.String()
}

func runBalance() {
	fault := errors.New("fault")
	for _, in := range []struct {
		name    string
		timeout time.Duration
		members []member
	}{
		{"equal", 0, []member{{name: "a"}, {name: "b"}, {name: "c"}}},
		{"busy", 0, []member{{name: "a", pending: 2}, {name: "b", pending: 1}, {name: "c", pending: 1}}},
		{"failing", 0, []member{{name: "a", err: fault}, {name: "b"}}},
		{"all-failing", 0, []member{{name: "a", err: fault}, {name: "b", err: fault}}},
		{"failing-and-busy", 0, []member{{name: "a", err: fault}, {name: "b", pending: 3}}},
		{"timeout", time.Minute, []member{{name: "a"}}},
		{"none", 0, nil},
	} {
		report.Run("balance/"+in.name, func(c *report.Case) {
			var log []string
			lb := &fasthttp.LBClient{Timeout: in.timeout}
			for i := range in.members {
				in.members[i].log = &log
				lb.Clients = append(lb.Clients, &in.members[i])
			}
			var errs []string
			for range 12 {
				errs = append(errs, fmt.Sprint(lb.Do(nil, nil)))
			}
			c.Str("errors", strings.Join(errs, " "))
			c.Val("added", lb.AddClient(&member{name: "new", log: &log}))
			_ = lb.DoTimeout(nil, nil, 30*time.Second)
			c.Val("left", lb.RemoveClients(func(b fasthttp.BalancingClient) bool { return b.(*member).name == "new" }))
			c.Val("none", lb.RemoveClients(func(fasthttp.BalancingClient) bool { return true }))
			c.Val("empty", lb.DoDeadline(nil, nil, time.Now()))
			c.Str("log", strings.Join(log, " "))
		})
	}
}
