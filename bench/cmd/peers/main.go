// Command peers measures this fasthttp beside the servers of other libraries and languages:
// hertz and nbio (Go), hyper and actix (Rust), h2o (C), netty (Java), uWebSockets (C++), nginx, and
// a loop in C that parses nothing. It is run in the bench folder, on linux:
//
//	go run ./cmd/peers            # about 25 minutes, and some minutes to compile the servers in Rust once
//	go run ./cmd/peers -short     # a quick look
//	go run ./cmd/peers -page      # only write the page anew
//
// wrk sends the requests of cmd/tcp -varied, and others over TLS and to handlers that wait. A server
// that cannot be built on the machine is left out, and named. The page is docs/peers.md, its chart docs/img/peers.svg; every sample is in
// results/peers.json. The exit code is 1 if anything failed, and 2 if the command line is wrong.
package main

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"

	"github.com/valyala/fasthttp/bench/internal/command"
	"github.com/valyala/fasthttp/bench/internal/progress"
	"github.com/valyala/fasthttp/bench/internal/rig"
	"github.com/valyala/fasthttp/bench/internal/study"
	"github.com/valyala/fasthttp/bench/internal/tcp"
)

type options struct {
	study.Options
	out, docs string
	page      bool // measure nothing
}

func main() { command.Main("peers", parseFlags, run) }

func parseFlags(args []string, help io.Writer) (options, error) {
	var opts options
	flags := command.New("peers", help)
	flags.Study(&opts.Options, 5, 2, "TLS")
	flags.StringVar(&opts.docs, "docs", "../docs", "folder to write peers.md to, and its chart to the folder img in it")
	flags.BoolVar(&opts.page, "page", false, "write the page anew from results/peers.json, and measure nothing")
	flags.Out(&opts.out)
	if _, err := flags.Parse(args); err != nil {
		return opts, err
	}
	return opts, nil
}

func run(ctx context.Context, opts options, out, log io.Writer) error {
	dir, err := rig.BenchDir(ctx)
	if err != nil {
		return err
	}
	r := new(study.Report)
	if opts.page {
		err = rig.ReadJSON(filepath.Join(rig.In(dir, opts.out), "peers.json"), r)
	} else {
		r, err = study.Run(ctx, dir, tcp.Peers, opts.Options, progress.New(log), tcp.MeasurePeers)
	}
	if err != nil {
		return err
	}
	if opts.Rows.String() != "" { // a part is no page
		_, err := io.WriteString(out, page(r))
		return err
	}
	docs, text := rig.In(dir, opts.docs), page(r)
	images := filepath.Join(docs, "img")
	if err := errors.Join(
		os.MkdirAll(images, 0o755),
		os.WriteFile(filepath.Join(docs, "peers.md"), []byte(text), 0o644),
		os.WriteFile(filepath.Join(images, "peers.svg"), []byte(chart(r)), 0o644),
	); err != nil {
		return err
	}
	return command.Show(out, dir, opts.out, command.Result{Name: "peers", Markdown: text, Value: r, Head: r.Head})
}
