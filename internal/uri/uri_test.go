package uri

import "testing"

func full(t *Text) string {
	return string(t.AppendHash(t.AppendQuery(t.AppendPath(t.AppendOrigin(nil), false))))
}

func TestTextIsResolvedAndWritten(t *testing.T) {
	for _, tc := range []struct{ host, text, ref, want string }{
		{"", "HTTPS://u:p@H:8/a//b/../c?q#f", "", "https://h:8/a/c?q#f"},
		{"H", "/a?q#f", "#g h", "http://h/a?q#g%20h"},
		{"h", "/a/b?q#f", "?r", "http://h/a/b?r"},
		{"h", "/a/b?q#f", "../c", "http://h/c"},
		{"h", "/a/b", "//[::1%25x]/%zz", "http://[::1%25x]/%25zz"},
		{"h", "*", "wss://i", "wss://i/"},
	} {
		var text, copied Text
		if err := text.Parse([]byte(tc.host), []byte(tc.text)); err != nil {
			t.Fatal(err)
		}
		before := text.Changes()
		if err := text.Update([]byte(tc.ref), false); err != nil {
			t.Errorf("%q: %v", tc.ref, err)
		}
		if changed := text.Changes() != before; changed != (tc.ref != "") {
			t.Errorf("%q: changed %t", tc.ref, changed)
		}
		text.CopyTo(&copied)
		if got := full(&text); got != tc.want || full(&copied) != got {
			t.Errorf("%q + %q: %q, want %q", tc.text, tc.ref, got, tc.want)
		}
	}
}

func TestUserIsRestoredAsItWas(t *testing.T) {
	for _, set := range []bool{false, true} {
		var text Text
		if err := text.Parse(nil, []byte("http://a%40b:c%25@h/")); err != nil {
			t.Fatal(err)
		}
		want := "a@b:c%"
		if set {
			text.Set(Username, []byte("x%40"))
			want = "x%40:c%"
		}
		user := text.User()
		if err := text.Update([]byte("//i/"), false); err != nil || text.HasUser() {
			t.Fatalf("%q, %v", text.AppendUser(nil), err)
		}
		text.SetUser(user)
		if got := string(text.AppendUser(nil)); got != want {
			t.Errorf("set %t: %q, want %q", set, got, want)
		}
	}
}

func TestTextsWithoutAHostHaveAnError(t *testing.T) {
	for in, want := range map[string]error{
		"http://a b/": BadHostByte(" "), "http://a%41/": BadEscape("%41"), "http://h:x/": ErrPort, "http://[::1/": ErrAddress,
	} {
		var text Text
		if err := text.Parse(nil, []byte(in)); err != want || text.Err() != want || !text.BadHost() {
			t.Errorf("%q: %v, then %v, want %v", in, err, text.Err(), want)
		}
		if text.SetHost([]byte("h")); text.Err() != nil {
			t.Errorf("%q, then another host: %v", in, text.Err())
		}
	}
}
