package main

import (
	"regexp"
	"strings"
	"testing"
)

func TestDifferencesAreWellFormed(t *testing.T) {
	list, err := readDifferences(differencesTable)
	if err != nil {
		t.Fatal(err)
	}
	if len(list) == 0 {
		t.Error("the table is empty")
	}
}

func TestOddLinesOfTheTableAreRefused(t *testing.T) {
	for _, tc := range []struct{ line, want string }{
		{"server\tTestA\tfault: it fails", ""},
		{"# a comment", ""},
		{"server\tTestA", "columns"},
		{"client\tTestA\tfault: it fails", "neither"},
		{"server\tTestA\tit fails", "of no kind"},
		{"server\tTestA\tfault: a\nserver\tTestA\tfault: b", "twice"},
	} {
		_, err := readDifferences(tc.line + "\n")
		if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
			t.Errorf("%q: %v, want %q", tc.line, err, tc.want)
		}
	}
}

func TestOnlyReleasesOfTheVersionHaveTheTests(t *testing.T) {
	for version, want := range map[string]bool{
		"go1.26": true, "go1.26.8": true, "go1.26rc1": true, "go1.260": false, "go1.27": false, "devel": false,
	} {
		if got := ofVersion(version, "go1.26"); got != want {
			t.Errorf("%s: %v, want %v", version, got, want)
		}
	}
}

func TestOutcomesAreThoseOfTheSmallestParts(t *testing.T) {
	events := `{"Action":"run","Test":"TestA"}
{"Action":"output","Test":"TestA/h1","Output":"said\n"}
{"Action":"pass","Test":"TestA/h1"}
{"Action":"fail","Test":"TestA/h2"}
{"Action":"fail","Test":"TestA"}
{"Action":"pass","Test":"TestB"}
{"Action":"fail"}
`
	got, whole := read(strings.NewReader(events))
	if !whole || len(got.of) != 3 || got.of["TestA/h1"] != pass || got.of["TestA/h2"] != fail || got.of["TestB"] != pass {
		t.Errorf("got %v, %v", got.of, whole)
	}
	if said := got.said("TestA/h1"); said != "    said\n" {
		t.Errorf("it has said %q", said)
	}
	got, whole = read(strings.NewReader(`{"Action":"output","Test":"TestA","Output":"panic: test timed out after 3s\n"}` + "\n"))
	if whole || len(got.of) != 0 {
		t.Errorf("of a process that has ended: %v, %v", got.of, whole)
	}
}

func TestTestsThatServeAreFoundByWhatTheyCall(t *testing.T) {
	b := &built{calls: map[string]map[string]bool{
		"TestDirect":   {"httptest.NewServer": true},
		"TestIndirect": {"run": true, "testIndirect": true},
		"testIndirect": {"newClientServerTest": true},
		"TestBubble":   {"runBubble": true, "testIndirect": true},
		"runBubble":    {"synctest.Test": true},
		"TestNone":     {"run": true},
		"TestMain":     {"httptest.NewServer": true},
	}}
	var got []string
	for _, t := range b.wireTests(regexp.MustCompile(".")) {
		name := t.name
		if t.apart {
			name += " apart"
		}
		got = append(got, name)
	}
	if text := strings.Join(got, ", "); text != "TestBubble apart, TestDirect, TestIndirect" {
		t.Errorf("got %s", text)
	}
}
