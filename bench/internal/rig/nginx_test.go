package rig

import (
	"errors"
	"os/exec"
	"strings"
	"testing"

	"github.com/valyala/fasthttp/bench/internal/probe"
)

func TestNginxSiteConf(t *testing.T) {
	site := &NginxSite{HTTP: "\tsendfile on;\n", Server: "\t\troot /a;\n"}
	plain := site.conf("127.0.0.1:1", nil, false)
	for _, want := range []string{"listen 127.0.0.1:1 backlog=4096;", "\tsendfile on;\n\tserver {", "\t\troot /a;\n\t}"} {
		if !strings.Contains(plain, want) {
			t.Errorf("no %q in\n%s", want, plain)
		}
	}
	secure := site.conf("127.0.0.1:1", &Identity{Cert: "/c", Key: "/k"}, true)
	for _, want := range []string{"backlog=4096 ssl http2;", "ssl_certificate /c;", "ssl_certificate_key /k;"} {
		if !strings.Contains(secure, want) || strings.Contains(plain, want) {
			t.Errorf("no %q in\n%s", want, secure)
		}
	}
}

func TestNginxAnswersOverTLS(t *testing.T) {
	temp := t.TempDir()
	nginx, err := NewNginx(t.Context(), temp, HelloSite())
	if err != nil {
		t.Skip(err)
	}
	id, err := NewIdentity(temp)
	if err != nil {
		t.Fatal(err)
	}
	p, err := nginx.Start(t.Context(), Settings{Place: Anywhere, Identity: id})
	if err != nil {
		t.Fatal(err)
	}
	conn, err := probe.DialTLS("", p.Addr, "/")
	if err == nil {
		if err := conn.Get(); err != nil {
			t.Error(err)
		}
		err = conn.Close()
	}
	if err != nil {
		t.Error(err)
	}
	if err := p.Stop(); err != nil {
		t.Error(err)
	}
}

func TestNginxThatEndsAtOnceIsNoticed(t *testing.T) {
	nginx, err := NewNginx(t.Context(), t.TempDir(), NginxSite{Server: "root /a{;"})
	if err != nil {
		t.Skip(err)
	}
	_, err = nginx.Start(t.Context(), Settings{Place: Anywhere})
	// the error is the end of the process, not a timeout
	if _, ok := errors.AsType[*exec.ExitError](err); !ok {
		t.Errorf("nginx has settings that make no sense: %v", err)
	}
}

func TestNginxWithoutTheModuleIsRefused(t *testing.T) {
	if _, err := NewNginx(t.Context(), t.TempDir(), NginxSite{Module: "no_such_module"}); err == nil {
		t.Error("nginx was taken")
	}
}
