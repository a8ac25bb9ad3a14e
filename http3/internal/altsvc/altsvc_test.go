package altsvc

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestValues(t *testing.T) {
	for value, want := range map[string]string{
		`clear`:            "clear",
		` clear `:          "clear",
		`h3=":443"`:        "h3  443 24h0m0s",
		`h3=":443"; ma=60`: "h3  443 1m0s",
		`h3="a.example:8443";ma="60" ;persist=1, h2=":443"`: "h3 a.example 8443 1m0s|h2  443 24h0m0s",
		`h3="[::1]:443"`:                        "h3 ::1 443 24h0m0s",
		`w%3Dx%3Ay%23z=":1"`:                    "w=x:y#z  1 24h0m0s",
		`h3=":443",, ,h2=":1",`:                 "h3  443 24h0m0s|h2  1 24h0m0s",
		`h3=":443"; ma=99999999999999999999999`: "h3  443 596523h14m8s",
		`h3=":443"; x="a,b;\"c"; ma=1`:          "h3  443 1s",
		`h3="\:443"`:                            "h3  443 24h0m0s",
		``:                                      "malformed", `Clear`: "malformed", `h3`: "malformed", `h3=:443`: "malformed",
		`=":443"`: "malformed", `h3=":443`: "malformed", `h3="443"`: "malformed", `h3=":0"`: "malformed", `h3=":65536"`: "malformed",
		`h3=":+1"`: "malformed", `h3=":443"; ma`: "malformed", `h3=":443"; ma=`: "malformed", `h3=":443"; ma=x`: "malformed", `h3=":443"; =1`: "malformed",
		`h3=":443" h2=":1"`: "malformed", `h%3=":443"`: "malformed", `h%zz=":443"`: "malformed", `h3="a b:443"`: "malformed", `h3="a/b:443"`: "malformed",
		`h3=":443"; ma=-1`: "malformed", "h3=\":4\n43\"": "malformed", strings.Repeat(`h3=":1",`, 1000): "malformed",
	} {
		services, clear, err := Parse(value)
		var got []string
		for _, s := range services {
			got = append(got, fmt.Sprint(s.Protocol, " ", s.Host, " ", s.Port, " ", s.MaxAge))
		}
		switch {
		case err != nil:
			got = []string{"malformed"}
		case clear:
			got = []string{"clear"}
		}
		if text := strings.Join(got, "|"); text != want {
			t.Errorf("%q is %q", value, text)
		}
	}
	if services, _, err := Parse(strings.Repeat(`h3=":1",`, 100)); len(services) != MaxServices || err != nil {
		t.Error(len(services), err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(`h3="a.example:443"; ma=60; persist=1, h2=":443"`)
	f.Add(`clear`)
	f.Add(`w%3Dx=":1"; x="\""`)
	f.Fuzz(func(t *testing.T, value string) {
		services, clear, err := Parse(value)
		if len(services) > MaxServices || err != nil && (clear || services != nil) || clear && services != nil {
			t.Error(services, clear, err)
		}
		for _, s := range services {
			if s.Protocol == "" || s.Port == 0 || s.MaxAge < 0 {
				t.Error(s)
			}
			if strings.ContainsAny(s.Protocol, `%= ,;"`) || strings.Contains(s.Host, ":") || !isToken(s.Protocol) {
				continue
			}
			again, _, err := Parse(string(Append(nil, s)))
			if err != nil || len(again) != 1 || again[0] != s {
				t.Errorf("%v is read as %v, %v", s, again, err)
			}
		}
	})
}

func isToken(s string) bool {
	p := parser{s}
	return p.token() == s
}

func TestAppend(t *testing.T) {
	if got := string(Append(nil, Service{Protocol: "h3", Port: 443, MaxAge: time.Minute})); got != `h3=":443"; ma=60` {
		t.Error(got)
	}
}
