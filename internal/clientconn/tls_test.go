package clientconn

import (
	"crypto/tls"
	"slices"
	"testing"
)

func TestTLSConfigNamesTheServer(t *testing.T) {
	for _, tt := range []struct {
		addr, set string
		insecure  bool
		want      string
		fails     bool
	}{
		{addr: "a.test", want: "a.test"},
		{addr: "a.test:8443", want: "a.test"},
		{addr: "[::1]:443", want: "::1"},
		{addr: "a.test:8443", set: "b.test", want: "b.test"},
		{addr: "a:b:c:443", fails: true},
		{addr: "a:b:c:443", insecure: true, want: "a:b:c:443"},
	} {
		base := &tls.Config{ServerName: tt.set, InsecureSkipVerify: tt.insecure}
		config, err := TLSConfig(base, tt.addr)
		if (err != nil) != tt.fails {
			t.Errorf("%s: %v", tt.addr, err)
		}
		if err != nil {
			continue
		}
		if config.ServerName != tt.want || config.InsecureSkipVerify != tt.insecure {
			t.Errorf("%s: the server is %q, insecure: %v", tt.addr, config.ServerName, config.InsecureSkipVerify)
		}
		if config.ClientSessionCache == nil || !slices.Equal(config.NextProtos, []string{"http/1.1"}) {
			t.Errorf("%s: there is no cache, or the protocols are %q", tt.addr, config.NextProtos)
		}
		if base.ServerName != tt.set || base.NextProtos != nil {
			t.Errorf("%s: the base was changed", tt.addr)
		}
	}
	own := &tls.Config{NextProtos: []string{"own"}, ClientSessionCache: tls.NewLRUClientSessionCache(1)}
	config, err := TLSConfig(own, "a.test")
	if err != nil || config.NextProtos[0] != "own" || config.ClientSessionCache != own.ClientSessionCache {
		t.Errorf("a field that was set is replaced: %v", err)
	}
	if config, err = TLSConfig(nil, "a.test"); err != nil || config.ServerName != "a.test" {
		t.Errorf("without a base: %v", err)
	}
}

func TestTLSConfigsKeepOneForEachAddress(t *testing.T) {
	var c TLSConfigs
	first, err := c.For(nil, "a.test:443", func(names []string) []string { return names })
	if err != nil {
		t.Fatal(err)
	}
	again, _ := c.For(nil, "a.test:443", func(names []string) []string { return names })
	other, _ := c.For(nil, "b.test:443", func(names []string) []string { return names })
	if again != first || other == first || other.ServerName != "b.test" {
		t.Error("the configurations are mixed up")
	}
	if _, err := c.For(nil, "a:b:c:443", func(names []string) []string { return names }); err == nil {
		t.Error("a host that is none has a configuration")
	}
}
