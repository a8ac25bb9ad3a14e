package gen

import "testing"

func TestSourcesOfOneNameMakeUpTheSame(t *testing.T) {
	a, b, other := New("x"), New("x"), New("y")
	differs := false
	for range 100 {
		one := a.Mutate("GET / HTTP/1.1", "%", "\r\n", "\x00")
		if two := b.Mutate("GET / HTTP/1.1", "%", "\r\n", "\x00"); one != two {
			t.Fatalf("%q and %q", one, two)
		}
		differs = differs || one != other.Mutate("GET / HTTP/1.1", "%", "\r\n", "\x00")
	}
	if !differs {
		t.Error("two names make up the same")
	}
}

func TestJoinKeepsToItsBounds(t *testing.T) {
	s := New("join")
	seen := map[int]bool{}
	for range 200 {
		seen[len(s.Join(1, 3, "", func() string { return "x" }))] = true
	}
	if len(seen) != 3 || !seen[1] || !seen[3] {
		t.Errorf("numbers of parts: %v", seen)
	}
}
