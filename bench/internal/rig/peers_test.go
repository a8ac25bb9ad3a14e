package rig

import (
	"slices"
	"testing"
	"time"
)

func TestVersionOfACrate(t *testing.T) {
	for id, want := range map[string]string{
		"registry+https://github.com/rust-lang/crates.io-index#hyper@1.12.0": "1.12.0",
		"hyper@1.12.0": "1.12.0",
		"path+file:///x/servers/rust#peers@0.0.0": "0.0.0",
		"": "",
	} {
		if got := crateVersion(id); got != want {
			t.Errorf("%q is version %q, want %q", id, got, want)
		}
	}
}

func TestArgumentsOfPeers(t *testing.T) {
	s := foreign("netty", "4.2", "java", "-cp", "x", "Netty")
	for _, tc := range []struct {
		settings Settings
		want     []string
	}{
		{Settings{}, []string{"-cp", "x", "Netty", "127.0.0.1:80", "0"}},
		{Settings{Wait: 10 * time.Millisecond, Identity: &Identity{"c", "k"}}, []string{"-cp", "x", "Netty", "127.0.0.1:80", "10", "c", "k"}},
	} {
		if got, err := s.args("127.0.0.1:80", tc.settings); err != nil || !slices.Equal(got, tc.want) {
			t.Errorf("%+v: %q, %v", tc.settings, got, err)
		}
	}
	if nginx := (&Server{cannot: []Ability{Waiting}}); !s.Can(TLS) || !s.Can(Waiting) || nginx.Can(Waiting) || !nginx.Can(TLS) {
		t.Error("a server has not the loads that it has")
	}
}
