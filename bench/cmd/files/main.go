// Command files measures servers of files over loopback sockets: this fasthttp with its event
// engine and with its portable one, the published fasthttp, and nginx. wrk generates the load.
// It is run in the bench folder, on linux:
//
//	go run ./cmd/files
//	go run ./cmd/files -tls    # large files, encrypted
//
// The tables go to standard output, and with every sample to the files files.md and files.json, or
// files-tls.md and files-tls.json, in the results folder. The exit code is 1 if anything failed,
// and 2 if the command line is wrong. A missed goal is no failure.
package main

import (
	"github.com/valyala/fasthttp/bench/internal/command"
	"github.com/valyala/fasthttp/bench/internal/files"
)

func main() {
	command.Study(files.Kind, command.StudyFlags{
		Rounds: 3, Seconds: 5, Rows: "'MiB' or 304", TLS: "measure large files over TLS 1.3 instead",
	}, files.Measure)
}
