package servertest

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// A test of Steady that fails on a steady machine fails at once.
func TestAttempts(t *testing.T) {
	for name, tt := range map[string]struct {
		test            func(t testing.TB)
		failed, skipped bool
		log             string
	}{
		"well":    {func(t testing.TB) { t.Log("a", 1); t.Logf("%d", 2) }, false, false, "a1 2"},
		"Error":   {func(t testing.TB) { t.Error("a"); t.Errorf("%d", 2) }, true, false, "a 2"},
		"Fail":    {func(t testing.TB) { t.Fail(); t.Log("more") }, true, false, "more"},
		"FailNow": {func(t testing.TB) { t.FailNow(); t.Log("more") }, true, false, ""},
		"Fatal":   {func(t testing.TB) { t.Fatal("a"); t.Log("more") }, true, false, "a"},
		"Fatalf":  {func(t testing.TB) { t.Fatalf("%d", 2); t.Log("more") }, true, false, "2"},
		"Skip":    {func(t testing.TB) { t.Skip("a"); t.Log("more") }, false, true, "a"},
		"Skipf":   {func(t testing.TB) { t.Skipf("%d", 2); t.Log("more") }, false, true, "2"},
		"SkipNow": {func(t testing.TB) { t.SkipNow(); t.Log("more") }, false, true, ""},
		"a failure of a cleanup": {func(t testing.TB) {
			t.Cleanup(func() {
				if t.Context().Err() == nil {
					t.Error("the context goes on")
				}
				t.Cleanup(func() { t.Fatal("last") })
			})
			t.Cleanup(func() { t.Fatal("first") })
		}, true, false, "first last"},
	} {
		a := attempted(t, tt.test)
		var log []string
		for _, line := range a.log {
			place, text, _ := strings.Cut(line, ": ")
			if !strings.HasPrefix(place, "steady_test.go:") {
				t.Errorf("%s: a line of %s", name, place)
			}
			log = append(log, text)
		}
		if a.Failed() != tt.failed || a.Skipped() != tt.skipped || strings.Join(log, " ") != tt.log {
			t.Errorf("%s: failed %v, skipped %v, %q", name, a.Failed(), a.Skipped(), log)
		}
	}
}

// Steady forgives a failure while the machine stands still, and no other one.
func TestSteady(t *testing.T) {
	n := 0
	Steady(t, time.Nanosecond, func(t testing.TB) { // no machine is so steady
		if n++; n < 3 {
			t.Fatal(fmt.Sprint("attempt ", n))
		}
	})
	if n != 3 {
		t.Errorf("%d attempts, want 3", n)
	}
	if s := watchStandstills()(); s.longest < 0 || s.longest > Patience {
		t.Errorf("the machine stood still for %+v", s)
	}
}

func TestStandstillsExcuse(t *testing.T) {
	const limit = time.Second
	for name, tt := range map[string]struct {
		gap    time.Duration
		times  int
		excuse bool
	}{
		"a machine that runs":      {watchStep + watchStep/2, 1000, false},
		"a long standstill":        {limit/10 + 1, 1, true},
		"standstills":              {limit / 20, 3, false},
		"many standstills":         {limit / 20, 10, true},
		"very many short ones":     {3 * watchStep, 20, true},
		"a long one, but not much": {limit / 10, 1, false},
	} {
		var s standstills
		for range tt.times {
			s.add(tt.gap)
		}
		if got := s.excuse(limit); got != tt.excuse {
			t.Errorf("%s: excused: %v, want %v", name, got, tt.excuse)
		}
	}
}
