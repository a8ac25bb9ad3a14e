//go:build unix

package restart

import (
	"crypto/tls"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/servertls"
)

// secure makes the configuration of the server serve the certificate of the files, after those that
// it has.
func (r *Runner) secure(certFile, keyFile string) error {
	config := r.Server.TLSConfig.Clone()
	if config == nil {
		config = new(tls.Config)
	}
	if certFile == "" || keyFile == "" {
		if len(config.Certificates) == 0 && config.GetCertificate == nil && config.GetConfigForClient == nil {
			return servertls.ErrNone
		}
		return nil
	}
	files, err := fasthttp.NewTLSReloader(certFile, keyFile)
	if err != nil {
		return err
	}
	files.Logger = r.Server.Logger
	own, get := config.Certificates, config.GetCertificate
	config.Certificates = nil
	config.GetCertificate = func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
		if get != nil {
			if cert, err := get(hello); cert != nil || err != nil {
				return cert, err
			}
		}
		for i := range own {
			if hello.ServerName != "" && hello.SupportsCertificate(&own[i]) == nil {
				return &own[i], nil
			}
		}
		return files.GetCertificate(hello)
	}
	r.Server.TLSConfig = config
	return nil
}
