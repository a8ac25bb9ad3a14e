package uri

import "testing"

func TestCheckLocation(t *testing.T) {
	for location, want := range map[string]error{
		"":                 nil,
		"/path:with/colon": nil,
		"path":             nil,
		"?a:b":             nil,
		"#a:b":             nil,
		"//host:80/":       nil,
		"http://host/":     nil,
		"HTTPS://host/":    nil,
		"http:/path":       ErrNoHost,
		"https:host":       ErrNoHost,
		"ftp://host/":      NotHTTP("ftp"),
		"mailto:a@b":       NotHTTP("mailto"),
		":80":              ErrScheme,
		"a b:c":            ErrScheme,
	} {
		if got := CheckLocation([]byte(location)); got != want {
			t.Errorf("%q: %v, want %v", location, got, want)
		}
	}
	if text := NotHTTP("f\"p").Error(); text != `unsupported protocol "f\"p". http and https are supported` {
		t.Error(text)
	}
}

func TestOriginsHavePorts(t *testing.T) {
	for text, want := range map[string]string{
		"http://a.test/b":       "http://a.test:80",
		"http://a.test:80/":     "http://a.test:80",
		"https://a.test":        "https://a.test:443",
		"https://u:p@[::1]:8/?": "https://[::1]:8",
	} {
		var u Text
		if err := u.Parse(nil, []byte(text)); err != nil {
			t.Fatal(err)
		}
		if got := u.Origin(); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

// A Location is followed as received, except for dot segments.
func TestPathAndQueryAreKeptAsTheyCame(t *testing.T) {
	for _, tc := range []struct{ base, ref, want string }{
		{"http://a/x/y?z", "?", "/x/y?"},
		{"http://a/x/y?z", "?#h", "/x/y?"},
		{"http://a/x/y?z", "#?", "/x/y?z"},
		{"http://a/x/y?z", "/d%2Fe", "/d%2Fe"},
		{"http://a/x/y?z", "http://b/d%2fe?q?", "/d%2fe?q?"},
		{"http://a/x/y?z", "../%41/./b//../c", "/%41/b/c"},
		{"http://a/x/y?z", "..", "/"},
		{"http://a/x/y?z", "/a/..", "/"},
		{"http://a/x/y?z", "/../..//a/.", "//a/"},
		{"http://a/x/y?z", "//b", "/"},
		{"http://a/x/y?z", "/\xe4 b", "/%E4%20b"},
	} {
		var u Text
		if err := u.Parse(nil, []byte(tc.base)); err != nil {
			t.Fatal(err)
		}
		if err := u.Update([]byte(tc.ref), false); err != nil {
			t.Fatal(err)
		}
		u.KeepAsReceived([]byte(tc.ref), true)
		var copied Text
		u.CopyTo(&copied)
		for _, u := range []*Text{&u, &copied} {
			if got := string(u.AppendQuery(u.AppendPath(nil, false))); got != tc.want {
				t.Errorf("%s from %s: got %s, want %s", tc.ref, tc.base, got, tc.want)
			}
		}
		if u.SetPath([]byte("/d/e")); string(u.AppendPath(nil, false)) != "/d/e" {
			t.Errorf("%s: a path that was set is written as %s", tc.ref, u.AppendPath(nil, false))
		}
		if err := u.Parse(nil, []byte("http://c/d%2Fe?")); err != nil || full(&u) != "http://c/d/e" {
			t.Errorf("%s: what is parsed behind it is %s, %v", tc.ref, full(&u), err)
		}
	}
}
