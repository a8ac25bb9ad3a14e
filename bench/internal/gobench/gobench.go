// Package gobench reads the output of benchmarks in a Go test binary.
package gobench

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// Log is the output of one run.
type Log struct {
	CPU     string // the processor's name, if it was printed
	Results []Result
}

// Result is the outcome of one benchmark.
type Result struct {
	Name  string // without the word Benchmark and the number of processors
	Procs int    // GOMAXPROCS

	NsPerOp, BytesPerOp, AllocsPerOp float64
	CPUNsPerOp                       float64 // processor time; 0 if it was not reported
}

// Parse reads a log. It skips other lines, and metrics without a field in Result. A result
// line that it cannot parse is an error, so that no figure is lost unnoticed.
func Parse(r io.Reader) (Log, error) {
	var log Log
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		line := lines.Text()
		if cpu, ok := strings.CutPrefix(line, "cpu: "); ok {
			log.CPU = cpu
			continue
		}
		fields := strings.Fields(line)
		if !strings.HasPrefix(line, "Benchmark") || len(fields) < 2 {
			continue
		}
		// A benchmark that logs also has its name on a separate line, so the number after the
		// name identifies a result.
		if _, err := strconv.Atoi(fields[1]); err != nil {
			continue
		}
		result, err := parseResult(fields[0], fields[2:])
		if err != nil {
			return log, fmt.Errorf("gobench: %q: %w", line, err)
		}
		log.Results = append(log.Results, result)
	}
	if err := lines.Err(); err != nil {
		return log, fmt.Errorf("gobench: %w", err)
	}
	return log, nil
}

func parseResult(name string, metrics []string) (result Result, err error) {
	result.Name, result.Procs = splitName(name)
	if len(metrics)%2 != 0 {
		return result, fmt.Errorf("a figure has no unit")
	}
	timed := false
	for ; len(metrics) > 0; metrics = metrics[2:] {
		value, err := strconv.ParseFloat(metrics[0], 64)
		if err != nil {
			return result, err
		}
		switch metrics[1] {
		case "ns/op":
			result.NsPerOp = value
			timed = true
		case "cpu-ns/op":
			result.CPUNsPerOp = value
		case "B/op":
			result.BytesPerOp = value
		case "allocs/op":
			result.AllocsPerOp = value
		}
	}
	if !timed {
		return result, fmt.Errorf("no ns/op")
	}
	return result, nil
}

// splitName splits BenchmarkName-4, or BenchmarkRow/Name-4. For one processor there is no number.
func splitName(name string) (string, int) {
	name = strings.TrimPrefix(strings.TrimPrefix(name, "Benchmark"), "Row/")
	i := strings.LastIndexByte(name, '-')
	if i < 0 {
		return name, 1
	}
	procs, err := strconv.Atoi(name[i+1:])
	if err != nil || procs < 1 {
		return name, 1
	}
	return name[:i], procs
}
