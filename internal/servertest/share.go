package servertest

import (
	"fmt"
	"hash/fnv"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// ShareVariable is the environment variable for a run that takes only a share of the largest
// tables, such as "3/8": then each of them is cut into 8 parts, and the run takes part 3. A
// number of 8 and more takes the same part as its remainder, on other engines. Without
// the variable a run takes everything.
const ShareVariable = "FASTHTTP_TEST_SHARE"

// share is a share of the tables, or all of them if it is zero.
type share struct{ number, of int }

var ownShare = sync.OnceValue(func() share {
	s, err := parseShare(os.Getenv(ShareVariable))
	if err != nil {
		panic(err)
	}
	return s
})

func parseShare(text string) (share, error) {
	if text == "" {
		return share{}, nil
	}
	before, after, _ := strings.Cut(text, "/")
	number, err := strconv.ParseUint(before, 10, 24)
	of, otherErr := strconv.ParseUint(after, 10, 24)
	if err != nil || otherErr != nil || of == 0 {
		return share{}, fmt.Errorf("%s=%s is not like 3/8", ShareVariable, text)
	}
	return share{int(number), int(of)}, nil
}

// takes reports whether a row of a table belongs to the share. The shares of a cycle take each
// row, and each of them takes a row at least. The name of the table decides with which row they
// begin, so that a run takes different rows of tables that are alike.
func (s share) takes(table string, row, rows int) bool {
	if s.of == 0 {
		return true
	}
	part := s.number%s.of + offset(table)
	if rows < s.of {
		return row == part%rows
	}
	return row%s.of == part%s.of
}

// engines returns one engine of each kind. The shares of a cycle take each of the engines, if
// there are not more of a kind than shares. The next cycle begins with the next engine: a row
// of a table meets all engines in time.
func (s share) engines(table string, engines []Engine) []Engine {
	if s.of == 0 {
		return engines
	}
	var kept []Engine
	for kind := Automatic; kind <= Event; kind++ {
		var same []Engine
		for _, e := range engines {
			if e.Kind == kind {
				same = append(same, e)
			}
		}
		if len(same) > 0 {
			kept = append(kept, same[(s.number%s.of+s.number/s.of+offset(table))%len(same)])
		}
	}
	return kept
}

func offset(table string) int {
	h := fnv.New32a()
	_, _ = h.Write([]byte(table))
	return int(h.Sum32() >> 8)
}

// Some returns the rows of a large table that the run takes, which is all of them without
// ShareVariable. The test has one such table.
func Some[R any](t testing.TB, rows []R) []R {
	s := ownShare()
	if s.of == 0 {
		return rows
	}
	var kept []R
	for i, row := range rows {
		if s.takes(t.Name(), i, len(rows)) {
			kept = append(kept, row)
		}
	}
	return kept
}

// Takes reports whether the run takes a row of a large table, as Some does.
func Takes(t testing.TB, row, rows int) bool { return ownShare().takes(t.Name(), row, rows) }

// OfEachKind returns the engines on which a test runs: all of them, or, with ShareVariable, one
// of each Kind.
func OfEachKind(t testing.TB, engines []Engine) []Engine {
	return ownShare().engines(t.Name(), engines)
}

// WithoutGoroutines is called by a test that takes long with the race detector, which finds
// nothing in it, since it starts no goroutines. A run with ShareVariable skips it.
func WithoutGoroutines(t testing.TB) {
	t.Helper()
	if ownShare().of != 0 {
		t.Skip("the race detector finds nothing in a test without goroutines")
	}
}
