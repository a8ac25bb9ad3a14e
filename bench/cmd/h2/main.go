// Command h2 measures servers of HTTP/2 over loopback sockets: this fasthttp with its event
// engine and with its portable one, net/http, and nghttpd, h2o and nginx as far as they are
// installed. h2load generates the load. It is run in the bench folder, on linux:
//
//	go run ./cmd/h2          # by prior knowledge
//	go run ./cmd/h2 -tls     # over TLS 1.3
//	go run ./cmd/h2 -short   # a quick look
//
// The tables go to standard output, and with every sample to the files h2.md and h2.json, or
// h2-tls.md and h2-tls.json, in the results folder. The exit code is 1 if anything failed, and
// 2 if the command line is wrong. A missed goal is no failure.
package main

import (
	"github.com/valyala/fasthttp/bench/internal/command"
	"github.com/valyala/fasthttp/bench/internal/h2load"
)

func main() {
	command.Study(h2load.Kind, command.StudyFlags{
		Rounds: 5, Seconds: 4, Rows: "'64 connections'", TLS: "measure over TLS 1.3 instead",
	}, h2load.Measure)
}
