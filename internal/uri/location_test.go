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
