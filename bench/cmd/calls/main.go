// Command calls measures clients over loopback sockets: the processor time that a call costs
// the calling process, with HTTP/2 and HTTP/1.1 of this fasthttp and with HTTP/2 of net/http,
// for 1, 100 and 1000 concurrent callers. It is run in the bench folder, on linux:
//
//	go run ./cmd/calls          # over TLS 1.3
//	go run ./cmd/calls -short   # a quick look
//
// The tables go to standard output, and with every sample to the files calls.md and
// calls.json in the results folder. The exit code is 1 if anything failed, and 2 if the command
// line is wrong. A missed goal is no failure.
package main

import (
	"github.com/valyala/fasthttp/bench/internal/calls"
	"github.com/valyala/fasthttp/bench/internal/command"
)

func main() {
	calls.Main()
	command.Study(calls.Kind, command.StudyFlags{Rounds: 5, Seconds: 3, Rows: "'100 callers'"}, calls.Measure)
}
