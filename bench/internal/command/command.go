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

	"github.com/valyala/fasthttp/bench/internal/progress"
	"github.com/valyala/fasthttp/bench/internal/report"
	"github.com/valyala/fasthttp/bench/internal/rig"
	"github.com/valyala/fasthttp/bench/internal/study"
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

// Result is the result of a measuring command.
type Result struct {
	Name     string // of its files
	Markdown string
	Value    any // for the file with every sample
	Head     report.Head
}

// Of returns the result of a measurement over sockets. suffix is added to the name of its files.
func Of(k *study.Kind, r *study.Report, err error, suffix string) (Result, error) {
	if err != nil {
		return Result{}, err
	}
	return Result{k.Name + suffix, k.Markdown(r), r, r.Head}, nil
}

// Show writes a result to out and into the folder for results, and returns an error if a run has
// failed.
func Show(out io.Writer, dir, folder string, r Result) error {
	if err := rig.WriteResults(out, dir, folder, r.Name, r.Markdown, r.Value); err != nil {
		return err
	}
	if n := len(r.Head.Failures); n > 0 {
		return fmt.Errorf("%d of %d runs failed", n, r.Head.Runs)
	}
	return nil
}

// Run measures. dir is the bench folder.
type Run func(ctx context.Context, dir string, log *progress.Log) (Result, error)

// Measure is the main function of a measuring command. define defines its flags, beside -out.
func Measure(name string, define func(f *Flags) Run) {
	type options struct {
		out string
		run Run
	}
	Main(name, func(args []string, help io.Writer) (o options, err error) {
		f := New(name, help)
		o.run = define(f)
		f.Out(&o.out)
		_, err = f.Parse(args)
		return o, err
	}, func(ctx context.Context, o options, out, log io.Writer) error {
		dir, err := rig.BenchDir(ctx)
		if err != nil {
			return err
		}
		r, err := o.run(ctx, dir, progress.New(log))
		if err != nil {
			return err
		}
		return Show(out, dir, o.out, r)
	})
}

// Study is the main function of a command with one measurement over sockets: flags are its usual
// flags and their defaults.
func Study(k *study.Kind, flags StudyFlags, measure study.Measurer) {
	Measure(k.Name, func(f *Flags) Run {
		var opts study.Options
		f.Study(&opts, flags.Rounds, flags.Seconds, flags.Rows)
		if flags.TLS != "" {
			f.BoolVar(&opts.TLS, "tls", false, flags.TLS)
		}
		return func(ctx context.Context, dir string, log *progress.Log) (Result, error) {
			suffix := ""
			if opts.TLS {
				suffix = "-tls"
			}
			r, err := study.Run(ctx, dir, k, opts, log, measure)
			return Of(k, r, err, suffix)
		}
	})
}

// StudyFlags has the defaults of -rounds and -seconds, an example for -rows, and the usage of -tls,
// "" for none.
type StudyFlags struct {
	Rounds, Seconds int
	Rows, TLS       string
}

// Flags are the flags of a command. Some of them have another default when
// -short is given.
type Flags struct {
	*flag.FlagSet
	short  map[string]string
	checks []func() error
}

// New returns an empty set of flags. Their help text is written to help.
func New(name string, help io.Writer) *Flags {
	f := &Flags{FlagSet: flag.NewFlagSet(name, flag.ContinueOnError), short: map[string]string{}}
	f.SetOutput(help)
	return f
}

// Int defines a number of at least 1, with a default and a default for -short.
func (f *Flags) Int(p *int, name string, value, short int, usage string) {
	f.Number(p, name, value, short, 1, usage)
}

// Number is Int with another least number.
func (f *Flags) Number(p *int, name string, value, short, least int, usage string) {
	f.IntVar(p, name, value, usage)
	f.short[name] = strconv.Itoa(short)
	f.Check(func() error {
		if *p < least {
			return fmt.Errorf("-%s must be at least %d", name, least)
		}
		return nil
	})
}

// Check adds a check of the flags that Parse makes.
func (f *Flags) Check(check func() error) { f.checks = append(f.checks, check) }

// Study defines the flags of measurements over sockets, with their defaults for -rounds and
// -seconds, and an example for -rows; without an example there is no -rows.
func (f *Flags) Study(o *study.Options, rounds, seconds int, example string) {
	f.Rounds(&o.Rounds, rounds, 1)
	f.Int(&o.Seconds, "seconds", seconds, 1, "how long a run takes")
	f.BoolVar(&o.Pin, "pin", true, "keep the servers on one core and the load on another, if there are two and taskset")
	f.Modules(&o.Modules)
	if example != "" {
		f.Rows(&o.Rows, example)
	}
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
	if short {
		f.Visit(func(given *flag.Flag) { delete(f.short, given.Name) })
		for name, value := range f.short {
			if err := f.Set(name, value); err != nil {
				return short, err
			}
		}
	}
	for _, check := range f.checks {
		if err := check(); err != nil {
			return short, err
		}
	}
	return short, nil
}
