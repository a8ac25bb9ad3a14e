package rig

import (
	"os"
	"runtime"
	"strings"

	"github.com/valyala/fasthttp/bench/internal/report"
)

// Host describes the machine of the benchmarks, as far as it is known.
func Host() report.Machine {
	m := report.Machine{
		OS:     runtime.GOOS,
		Arch:   runtime.GOARCH,
		Kernel: "unknown",
		CPU:    "unknown CPU",
		Cores:  runtime.NumCPU(),
		Go:     runtime.Version(),
	}
	if text, err := os.ReadFile("/proc/sys/kernel/osrelease"); err == nil {
		m.Kernel = strings.TrimSpace(string(text))
	}
	if text, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		for line := range strings.Lines(string(text)) {
			if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == "model name" {
				m.CPU = strings.TrimSpace(value)
				break
			}
		}
	}
	return m
}
