package servertest

import (
	"flag"
	"os"
	"runtime/debug"
	"testing"
)

// The number of tests that run in parallel. Most tests wait more than they work, but the
// default is one test for each processor. With the race detector they work much more.
const (
	parallel      = "32"
	parallelRaces = "8"
)

// GOGC and GOMEMLIMIT with the race detector.
const (
	racesGC     = 400
	racesMemory = 512 << 20
)

// Main runs the tests of a package. It is called by TestMain.
func Main(m *testing.M) {
	flag.Parse()
	chosen := false
	// a fuzz test has as many workers
	flag.Visit(func(f *flag.Flag) { chosen = chosen || f.Name == "test.parallel" || f.Name == "test.fuzz" })
	if !chosen {
		n := parallel
		if RaceDetector {
			n = parallelRaces
		}
		if err := flag.Set("test.parallel", n); err != nil {
			panic(err)
		}
	}
	if RaceDetector && os.Getenv("GOGC") == "" {
		// new memory costs much more then, since the detector has several bytes for each
		debug.SetGCPercent(racesGC)
		debug.SetMemoryLimit(racesMemory)
	}
	m.Run()
}
