package main

import (
	"os"
	"runtime"
	"strings"

	"github.com/valyala/fasthttp/bench/internal/report"
)

// machine describes what the benchmarks run on, as far as it can be told.
func machine() report.Machine {
	return report.Machine{
		OS:     runtime.GOOS,
		Arch:   runtime.GOARCH,
		Kernel: kernel(),
		CPU:    "unknown CPU",
		Cores:  runtime.NumCPU(),
		Go:     runtime.Version(),
	}
}

// kernel is known on linux only.
func kernel() string {
	text, err := os.ReadFile("/proc/sys/kernel/osrelease")
	if err != nil {
		return "unknown"
	}
	return strings.TrimSpace(string(text))
}
