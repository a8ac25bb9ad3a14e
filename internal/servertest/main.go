package servertest

import (
	"flag"
	"testing"
)

// parallel is how many tests run at a time that wait more than they work. By
// default there would be one for each processor, as there is with the race detector:
// with that they work much more.
const parallel = "8"

// Main runs the tests of a package. It is called by TestMain.
func Main(m *testing.M) {
	flag.Parse()
	chosen := false
	// a fuzz test has as many workers
	flag.Visit(func(f *flag.Flag) { chosen = chosen || f.Name == "test.parallel" || f.Name == "test.fuzz" })
	if !chosen && !RaceDetector {
		if err := flag.Set("test.parallel", parallel); err != nil {
			panic(err)
		}
	}
	m.Run()
}
