// Package command has the common parts of the measuring commands: their flags, and their start
// and exit.
package command

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"os/signal"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/valyala/fasthttp/bench/internal/rig"
)

// Main parses the command line and runs the command. An interrupt ends it. The exit code is 1
// if run failed, and 2 if the command line is wrong.
func Main[O any](name string, parse func(args []string, help io.Writer) (O, error), run func(ctx context.Context, opts O, out, log io.Writer) error) {
	opts, err := parse(os.Args[1:], os.Stderr)
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err = run(ctx, opts, os.Stdout, os.Stderr)
	stop()
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		os.Exit(1)
	}
}

// Flags are the flags of a command. Some of them have another default when
// -short is given.
type Flags struct {
	*flag.FlagSet
	short map[string]string
}

// New returns an empty set of flags. Their help text is written to help.
func New(name string, help io.Writer) *Flags {
	f := &Flags{FlagSet: flag.NewFlagSet(name, flag.ContinueOnError), short: map[string]string{}}
	f.SetOutput(help)
	return f
}

// Int defines a number, with a default and a default for -short.
func (f *Flags) Int(p *int, name string, value, short int, usage string) {
	f.IntVar(p, name, value, usage)
	f.short[name] = strconv.Itoa(short)
}

// Text defines a text, with a default and a default for -short.
func (f *Flags) Text(p *string, name, value, short, usage string) {
	f.StringVar(p, name, value, usage)
	f.short[name] = short
}

// Duration defines a time, with a default and a default for -short.
func (f *Flags) Duration(p *time.Duration, name string, value, short time.Duration, usage string) {
	f.DurationVar(p, name, value, usage)
	f.short[name] = short.String()
}

// Rounds defines -rounds.
func (f *Flags) Rounds(p *int, value, short int) {
	f.Int(p, "rounds", value, short, "how often everything is measured")
}

// Modules defines -ours and -upstream.
func (f *Flags) Modules(p *rig.Modules) {
	f.StringVar(&p.Ours, "ours", "go.mod", "module file to build ours with; go.upstream.mod shows how far two equal builds differ")
	f.StringVar(&p.Upstream, "upstream", "go.upstream.mod", "module file to build upstream with")
}

// Out defines -out.
func (f *Flags) Out(p *string) {
	f.StringVar(p, "out", "results", "folder to write the results to")
}

// Rows defines -rows, which matches everything if it is not given.
func (f *Flags) Rows(p **regexp.Regexp, example string) {
	f.Matching(p, "rows", "run only the rows", example)
}

// Matching defines a flag with a regular expression for names, which matches everything if it
// is not given.
func (f *Flags) Matching(p **regexp.Regexp, name, usage, example string) {
	*p = regexp.MustCompile("")
	f.Func(name, "regular expression: "+usage+" whose names match, such as "+example, func(text string) (err error) {
		*p, err = regexp.Compile(text)
		return err
	})
}

// Parse parses the arguments, and reports whether they include -short.
func (f *Flags) Parse(args []string) (short bool, err error) {
	var values []string
	for _, name := range slices.Sorted(maps.Keys(f.short)) {
		values = append(values, "-"+name+" "+f.short[name])
	}
	f.BoolVar(&short, "short", false, "have a quick look: "+strings.Join(values, ", ")+", unless they are given")
	if err := f.FlagSet.Parse(args); err != nil {
		return short, err
	}
	if f.NArg() > 0 {
		return short, fmt.Errorf("unexpected argument %q", f.Arg(0))
	}
	if !short {
		return false, nil
	}
	f.Visit(func(given *flag.Flag) { delete(f.short, given.Name) })
	for name, value := range f.short {
		if err := f.Set(name, value); err != nil {
			return short, err
		}
	}
	return short, nil
}

// Failed returns the error of a session in which n of all runs failed.
func Failed(n, all int) error {
	if n == 0 {
		return nil
	}
	return fmt.Errorf("%d of %d runs failed", n, all)
}
