package traffic

import (
	"bufio"
	"bytes"
	"io"
	"maps"
	"net/http"
	"slices"
	"testing"
)

func TestRequestsAreWhole(t *testing.T) {
	for _, test := range []struct {
		name          string
		all           [][]byte
		n             int
		least, most   int // of a head
		body, maxBody int
	}{
		{"visitors", Visitors(), visitors, 60, 2000, 0, 0},
		{"proxied", Proxied(), proxied, 350, 600, 0, 0},
		{"posts", Posts(), posts, 350, 1400, leastPost, mostPost},
	} {
		t.Run(test.name, func(t *testing.T) {
			if len(test.all) != test.n {
				t.Errorf("%d of %d", len(test.all), test.n)
			}
			for _, text := range test.all {
				r := bufio.NewReader(bytes.NewReader(text))
				req, err := http.ReadRequest(r)
				if err != nil {
					t.Fatalf("%v: %s", err, text)
				}
				body, err := io.ReadAll(req.Body)
				if err != nil || r.Buffered() > 0 || req.Close || req.Host == "" || req.ProtoMinor != 1 {
					t.Errorf("%v, %d bytes more, of %q: %s", err, r.Buffered(), req.Host, text)
				}
				if len(body) < test.body || len(body) > test.maxBody {
					t.Errorf("a body of %d bytes: %s", len(body), text)
				}
				if head := len(text) - len(body); head < test.least || head > test.most {
					t.Errorf("a head of %d bytes: %s", head, text)
				}
				for name, values := range req.Header {
					if len(values) != 1 || values[0] == "" {
						t.Errorf("%s: %q", name, values)
					}
				}
			}
		})
	}
}

// TestNeighboursDiffer checks the purpose of the texts: a server that remembers the
// last head must not find its fields in the next one, with or without the length.
func TestNeighboursDiffer(t *testing.T) {
	for name, all := range map[string][][]byte{"visitors": Visitors(), "proxied": Proxied(), "posts": Posts(), "answers": Answers()} {
		last := all[len(all)-1]
		for _, text := range all {
			if sameFields(last, text) {
				t.Errorf("%s: twice in turn:\n%s", name, text)
			}
			last = text
		}
		distinct := map[string]bool{}
		for _, text := range all {
			distinct[fields(text)] = true
		}
		if len(distinct) < len(all)*9/10 {
			t.Errorf("%s: %d texts have %d different heads", name, len(all), len(distinct))
		}
	}
}

func TestTextsAreTheSameEachTime(t *testing.T) {
	for name, texts := range map[string]func() [][]byte{"visitors": Visitors, "proxied": Proxied, "posts": Posts, "answers": Answers} {
		if !slices.EqualFunc(texts(), texts(), bytes.Equal) {
			t.Errorf("%s differ", name)
		}
	}
}

func TestClosingRequestsAreTheSameButForThat(t *testing.T) {
	for _, text := range append(Visitors(), Posts()...) {
		want, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(text)))
		if err != nil {
			t.Fatal(err)
		}
		got, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(Closing(text))))
		if err != nil {
			t.Fatal(err)
		}
		want.Header.Set("Connection", "close")
		if !got.Close || got.RequestURI != want.RequestURI || got.ContentLength != want.ContentLength || !maps.EqualFunc(got.Header, want.Header, slices.Equal) {
			t.Errorf("got %s of %s", Closing(text), text)
		}
	}
}
