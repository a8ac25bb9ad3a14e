package docs

import (
	"regexp"
	"testing"
)

// The words that comments may have, for each 1000 lines. A limit above its target is
// what was measured when it was set: lower it when the comments permit.
const (
	maxSays   = 5
	maxThatOf = 6
	maxWhat   = 4
	maxCome   = 3
	maxThose  = 1
)

// budget limits words that are plain in some places, and a habit if they are frequent.
type budget struct {
	name string
	bad  *regexp.Regexp
	most int
	like string
}

var budgets = []budget{
	{"says", regexp.MustCompile(`\bsays\b`), maxSays, "the header says so"},
	{"that of, that is", regexp.MustCompile(`\b[Tt]hat (?:of|is)\b`), maxThatOf, "the time that is left"},
	{"what", regexp.MustCompile(`\b[Ww]hat\b`), maxWhat, "what remains"},
	{"come, comes, came", regexp.MustCompile(`\b(?:come|comes|came)\b`), maxCome, "bytes come"},
	{"those that, of, who", regexp.MustCompile(`\b[Tt]hose (?:that|of|who)\b`), maxThose, "those that remain"},
}

// density returns how often passages have the words, for each 1000 lines.
func (b budget) density(passages []passage) float64 {
	found, lines := 0, 0
	for _, p := range passages {
		found += len(b.bad.FindAllStringIndex(p.oneLine(), -1))
		lines += p.lines()
	}
	return 1000 * float64(found) / float64(lines)
}

// TestWordsAreWithinTheirBudgets counts words in the comments of all Go files.
func TestWordsAreWithinTheirBudgets(t *testing.T) {
	all := comments(t)
	for _, b := range budgets {
		density := b.density(all)
		t.Logf("%q: %.2f for each 1000 lines, at most %d", b.name, density, b.most)
		if density > float64(b.most) {
			t.Errorf("comments have %q %.2f times for each 1000 lines, more than %d", b.name, density, b.most)
		}
	}
}

// TestBudgetsCountWords checks that words count once each, in any place, and lines only
// if they have text.
func TestBudgetsCountWords(t *testing.T) {
	for _, b := range budgets {
		code := "package a\n\n// " + b.like + "\n//\n// on two lines\nvar a = \"" + b.like + "\" // " + b.like + "\n\n/*\nplain\n*/\n"
		if got := b.density(commentsIn(t, "a.go", []byte(code))); got != 500 {
			t.Errorf("%q: %v for each 1000 lines, not 500", b.name, got)
		}
	}
}
