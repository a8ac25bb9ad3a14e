package cputime

import "testing"

func TestUsedGrowsWithWork(t *testing.T) {
	begin := Used()
	if begin == 0 {
		t.Skip("this system does not tell")
	}
	// It works until the clock advances. If the clock stands still, the test times
	// out.
	for sum := 0; Used() == begin; {
		for i := range 1_000_000 {
			sum += i
		}
	}
	if now := Used(); now < begin {
		t.Errorf("went from %v back to %v", begin, now)
	}
}
