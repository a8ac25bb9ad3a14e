//go:build unix

package main

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"runtime"
	"runtime/pprof"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/quic-go/quic-go"
	peer "github.com/quic-go/quic-go/http3"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/http3"
)

// large is the content of the response to /large.
var large = make([]byte, 64<<10)

const hello = "Hello, World!"

// used is the usage of a server so far.
type used struct {
	CPU     time.Duration
	Mallocs uint64
	Bytes   uint64 // allocated in total
	Live    uint64 // heap and stacks in use, after a collection if one was asked for
}

// serve is the process of a server. It prints its address, and for each line that it reads its
// usage; the line "live" has it collect garbage first.
func serve(kind, profile string) error {
	pc, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	config, err := tlsConfig()
	if err != nil {
		return err
	}
	var size atomic.Int64 // of the echo's responses
	go func() {
		if err := servers[kind](pc, config, &size); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}()
	if profile != "" {
		f, err := os.Create(profile)
		if err != nil {
			return err
		}
		defer f.Close()
		if err := pprof.StartCPUProfile(f); err != nil {
			return err
		}
		defer pprof.StopCPUProfile()
	}
	fmt.Println(pc.LocalAddr())
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		var n int64
		if k, _ := fmt.Sscanf(lines.Text(), "respond %d", &n); k == 1 {
			size.Store(n)
		}
		if lines.Text() == "live" {
			runtime.GC()
			runtime.GC()
		}
		if err := json.NewEncoder(os.Stdout).Encode(usage()); err != nil {
			return err
		}
	}
	return nil
}

func usage() (u used) {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err == nil {
		u.CPU = time.Duration(r.Utime.Nano() + r.Stime.Nano())
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	u.Mallocs, u.Bytes, u.Live = m.Mallocs, m.TotalAlloc, m.HeapAlloc+m.StackInuse
	return u
}

func tlsConfig() (*tls.Config, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template := x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), DNSNames: []string{"localhost"}}
	der, err := x509.CreateCertificate(rand.Reader, &template, &template, &key.PublicKey, key)
	if err != nil {
		return nil, err
	}
	return &tls.Config{
		Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}},
		NextProtos:   []string{http3.NextProto},
	}, nil
}

// streams is how many requests a client may have at once, for each server.
const streams = 250

// servers are the servers that are compared.
var servers = map[string]func(pc net.PacketConn, config *tls.Config, size *atomic.Int64) error{
	"fasthttp": func(pc net.PacketConn, config *tls.Config, _ *atomic.Int64) error {
		s := http3.Server{TLSConfig: config, Server: &fasthttp.Server{HTTP2: fasthttp.HTTP2Config{MaxEncoderHeaderTableSize: int(*table)}, Handler: func(ctx *fasthttp.RequestCtx) {
			switch string(ctx.Path()) {
			case "/large":
				ctx.Response.SetBodyRaw(large)
			case "/post":
				fmt.Fprint(ctx, len(ctx.PostBody()))
			default:
				ctx.WriteString(hello)
			}
		}}}
		return s.Serve(pc)
	},
	"net/http": func(pc net.PacketConn, config *tls.Config, _ *atomic.Int64) error {
		s := peer.Server{
			TLSConfig:  config,
			QUICConfig: &quic.Config{MaxIncomingStreams: streams},
			Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				switch r.URL.Path {
				case "/large":
					_, _ = w.Write(large)
				case "/post":
					body, err := io.ReadAll(r.Body)
					if err != nil {
						panic(err)
					}
					fmt.Fprint(w, len(body))
				default:
					_, _ = io.WriteString(w, hello)
				}
			}),
		}
		return s.Serve(pc)
	},
	"transport": serveTransport,
}

// serveTransport responds with bytes alone: the cost of QUIC without HTTP.
func serveTransport(pc net.PacketConn, config *tls.Config, size *atomic.Int64) error {
	ln, err := quic.Listen(pc, config, &quic.Config{MaxIncomingStreams: streams})
	if err != nil {
		return err
	}
	response := make([]byte, 1<<20)
	for {
		c, err := ln.Accept(context.Background())
		if err != nil {
			return err
		}
		go func() {
			for {
				s, err := c.AcceptStream(context.Background())
				if err != nil {
					return
				}
				go func() {
					var b [2048]byte
					for {
						if _, err := s.Read(b[:]); err == io.EOF {
							break
						} else if err != nil {
							return
						}
					}
					_, _ = s.Write(response[:size.Load()])
					_ = s.Close()
				}()
			}
		}()
	}
}
