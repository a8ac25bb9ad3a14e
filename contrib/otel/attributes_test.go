package otelfasthttp

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/valyala/fasthttp"
)

func TestRedactQuery(t *testing.T) {
	for query, want := range map[string]string{
		"":                          "",
		"a=1&b=2":                   "a=1&b=2",
		"sig=abc":                   "sig=REDACTED",
		"a=1&sig=abc&b=2":           "a=1&sig=REDACTED&b=2",
		"AWSAccessKeyId=x":          "AWSAccessKeyId=REDACTED",
		"X-Goog-Signature=x&y":      "X-Goog-Signature=REDACTED&y",
		"Signature=x;access_token=": "Signature=REDACTED;access_token=",
		"t%6Fken=abc":               "t%6Fken=REDACTED",
		"Api-Key=1&api%5Fkey=2":     "Api-Key=REDACTED&api%5Fkey=REDACTED",
		"PASSWORD=a=b&z":            "PASSWORD=REDACTED&z",
		"sign=1&token":              "sign=1&token",
		"monkey=1":                  "monkey=1",
		"token=1&":                  "token=REDACTED&",
		"%=1&%4=2&&=3":              "%=1&%4=2&&=3",
	} {
		if got := RedactQuery(query); got != want {
			t.Errorf("%q becomes %q, want %q", query, got, want)
		}
	}
}

func FuzzRedactQuery(f *testing.F) {
	f.Add("a=1&token=2;b")
	f.Fuzz(func(t *testing.T, query string) {
		once := RedactQuery(query)
		if twice := RedactQuery(once); twice != once {
			t.Errorf("%q becomes %q, then %q", query, once, twice)
		}
		if strings.Count(once, "&") != strings.Count(query, "&") {
			t.Errorf("%q becomes %q", query, once)
		}
	})
}

func TestSplitHost(t *testing.T) {
	for host, want := range map[string]string{
		"":               " 0",
		"example.com":    "example.com 0",
		"example.com:80": "example.com 80",
		"example.com:":   "example.com 0",
		"example.com:x":  "example.com:x 0",
		"a:99999":        "a:99999 0",
		"[::1]":          "::1 0",
		"[::1]:8080":     "::1 8080",
		"[":              "[ 0",
	} {
		address, port := splitHost([]byte(host))
		if got := fmt.Sprintf("%s %d", address, port); got != want {
			t.Errorf("%q has the parts %q, want %q", host, got, want)
		}
	}
}

func TestErrorTypesAreFew(t *testing.T) {
	for want, err := range map[string]error{
		"canceled":                 fmt.Errorf("call 17: %w", context.Canceled),
		"timeout":                  fasthttp.ErrTimeout,
		"*errors.errorString":      errors.New("anything"),
		"*errors.joinError":        errors.Join(errors.New("one"), errors.New("two")),
		"*fs.PathError":            fmt.Errorf("number 7: %w", &os.PathError{Op: "open", Path: "x", Err: errors.New("no")}),
		"*fasthttp.ErrSmallBuffer": &fasthttp.ErrSmallBuffer{},
	} {
		if got := errorType(err); got != want && !strings.HasSuffix(got, strings.TrimPrefix(want, "*")) {
			t.Errorf("%v has the type %q, want %q", err, got, want)
		}
	}
}

func TestCarrier(t *testing.T) {
	var h fasthttp.RequestHeader
	c := Carrier{&h}
	if c.Get("traceparent") != "" || c.Values("baggage") != nil {
		t.Error("an empty header has values")
	}
	h.Add("baggage", "a=1")
	h.Add("baggage", "b=2")
	if got := c.Values("Baggage"); len(got) != 2 || got[1] != "b=2" {
		t.Errorf("the values are %q", got)
	}
	w := written{names: []string{"baggage", "traceparent"}}
	w.save(c)
	c.Set("baggage", "c=3")
	c.Set("traceparent", "x")
	if len(c.Keys()) != 2 {
		t.Errorf("the keys are %q", c.Keys())
	}
	w.restore(c)
	if got := c.Values("baggage"); len(got) != 2 || got[0] != "a=1" || c.Get("traceparent") != "" {
		t.Errorf("the header is %q", h.String())
	}
}

func TestCarrierReadsAnEmptyHeaderWithoutAllocation(t *testing.T) {
	var h fasthttp.RequestHeader
	h.Set("Accept", "x")
	p := collect().options
	propagator := newConfig(p).propagator
	ctx := context.Background()
	if n := testing.AllocsPerRun(100, func() { propagator.Extract(ctx, Carrier{&h}) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
