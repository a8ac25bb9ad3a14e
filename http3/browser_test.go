package http3

import (
	"context"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"os/exec"
	"strings"
	"testing"

	"github.com/valyala/fasthttp"
)

// Chromium accepts the certificate by the hash of its key.
func TestPageInChromium(t *testing.T) {
	if _, err := exec.LookPath("chromium"); err != nil {
		t.Skip("there is no chromium")
	}
	_, addr := run(t, &fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) {
		switch string(ctx.Path()) {
		case "/":
			ctx.SetContentType("text/html")
			ctx.WriteString(`<p id="page">` + string(ctx.Request.Header.Protocol()) + `</p><p id="fetched"></p>
				<script>fetch("/echo", {method: "POST", body: "x".repeat(100000)}).then(r => r.text()).then(s => fetched.textContent = s.length)</script>`)
		case "/echo":
			ctx.Write(ctx.PostBody())
		default:
			ctx.SetStatusCode(fasthttp.StatusNotFound)
		}
	}})
	leaf, err := x509.ParseCertificate(certificate().Certificate[0])
	if err != nil {
		t.Fatal(err)
	}
	key := sha256.Sum256(leaf.RawSubjectPublicKeyInfo)
	origin := strings.Replace(addr, "127.0.0.1", "localhost", 1)
	within, cancel := context.WithTimeout(context.Background(), 2*wait)
	defer cancel()
	cmd := exec.CommandContext(within, "chromium", "--headless", "--no-sandbox", "--disable-gpu", "--user-data-dir="+t.TempDir(),
		"--host-resolver-rules=MAP localhost 127.0.0.1", "--origin-to-force-quic-on="+origin,
		"--ignore-certificate-errors-spki-list="+base64.StdEncoding.EncodeToString(key[:]),
		"--virtual-time-budget=10000", "--dump-dom", "https://"+origin+"/")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, want := range []string{`<p id="page">HTTP/3.0</p>`, `<p id="fetched">100000</p>`} {
		if !strings.Contains(string(out), want) {
			t.Errorf("there is no %s in\n%s", want, out)
		}
	}
}
