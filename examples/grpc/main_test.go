package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/grpc/status"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/examples/grpc/boardpb"
	"github.com/valyala/fasthttp/examples/grpc/boardpb/boardpbconnect"
	"github.com/valyala/fasthttp/internal/servertest"
)

// patience is how long anything may take. Nothing takes that long unless something is wrong.
const patience = time.Minute

// running is the program.
type running struct {
	*servertest.RunningProgram
	addr string
	tls  *tls.Config // nil without TLS
}

// eachProgram runs a test with TLS and without.
func eachProgram(t *testing.T, test func(t *testing.T, r *running)) {
	for _, secure := range []bool{false, true} {
		t.Run(fmt.Sprintf("TLS %v", secure), func(t *testing.T) {
			t.Parallel()
			test(t, start(t, secure))
		})
	}
}

func start(t *testing.T, secure bool) *running {
	t.Helper()
	r := new(running)
	var certFile, keyFile string
	if secure {
		cert, key, err := fasthttp.GenerateTestCertificate("127.0.0.1")
		certFile, keyFile = filepath.Join(t.TempDir(), "cert"), filepath.Join(t.TempDir(), "key")
		if err := errors.Join(err, os.WriteFile(certFile, cert, 0o600), os.WriteFile(keyFile, key, 0o600)); err != nil {
			t.Fatal(err)
		}
		r.tls = &tls.Config{RootCAs: x509.NewCertPool()}
		r.tls.RootCAs.AppendCertsFromPEM(cert)
	}
	r.RunningProgram = servertest.Program(func(ctx context.Context, stdout io.Writer) error {
		return run(ctx, "127.0.0.1:0", certFile, keyFile, stdout)
	}).Start(t)
	r.addr = r.Addr()
	return r
}

func (r *running) url() string {
	if r.tls != nil {
		return "https://" + r.addr
	}
	return "http://" + r.addr
}

// web returns a client of one version of HTTP.
func (r *running) web(t *testing.T, http2 bool) *http.Client {
	var p http.Protocols
	p.SetHTTP1(!http2)
	p.SetHTTP2(http2 && r.tls != nil)
	p.SetUnencryptedHTTP2(http2 && r.tls == nil)
	transport := &http.Transport{Protocols: &p, TLSClientConfig: r.tls.Clone()}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, Timeout: patience}
}

func (r *running) dial(t *testing.T) *grpc.ClientConn {
	t.Helper()
	creds := insecure.NewCredentials()
	if r.tls != nil {
		creds = credentials.NewTLS(r.tls.Clone())
	}
	cc, err := grpc.NewClient("passthrough:///"+r.addr, grpc.WithTransportCredentials(creds), grpc.WithNoProxy())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cc.Close() })
	return cc
}

func callContext(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}

// client is a client of one protocol. Each sees the notes of the others.
type client struct {
	post func(ctx context.Context, author, text string) (*boardpb.Note, error)
	list func(ctx context.Context) ([]string, error)
	code func(err error) codes.Code
	// talk returns functions that send a text, receive one, and end the stream of the client;
	// nil if the protocol has no streams in both directions.
	talk func(ctx context.Context) (send func(text string) error, receive func() (string, error), end func() error)
}

func grpcClient(cc *grpc.ClientConn) client {
	c := boardpb.NewBoardClient(cc)
	return client{
		post: func(ctx context.Context, author, text string) (*boardpb.Note, error) {
			resp, err := c.Post(ctx, &boardpb.PostRequest{Author: author, Text: text})
			return resp.GetNote(), err
		},
		list: func(ctx context.Context) (texts []string, err error) {
			stream, err := c.List(ctx, &boardpb.ListRequest{})
			for err == nil {
				var resp *boardpb.ListResponse
				if resp, err = stream.Recv(); err == nil {
					texts = append(texts, resp.GetNote().GetText())
				}
			}
			if err == io.EOF {
				err = nil
			}
			return texts, err
		},
		code: status.Code,
		talk: func(ctx context.Context) (func(string) error, func() (string, error), func() error) {
			stream, err := c.Talk(ctx)
			send := func(text string) error {
				if err != nil {
					return err
				}
				return stream.Send(&boardpb.TalkRequest{Author: "grpc", Text: text})
			}
			receive := func() (string, error) {
				resp, err := stream.Recv()
				return resp.GetNote().GetText(), err
			}
			return send, receive, func() error { return stream.CloseSend() }
		},
	}
}

func connectClient(web *http.Client, url string, http2 bool, options ...connect.ClientOption) client {
	c := boardpbconnect.NewBoardClient(web, url, options...)
	out := client{
		post: func(ctx context.Context, author, text string) (*boardpb.Note, error) {
			resp, err := c.Post(ctx, &boardpb.PostRequest{Author: author, Text: text})
			return resp.GetNote(), err
		},
		list: func(ctx context.Context) (texts []string, err error) {
			stream, err := c.List(ctx, &boardpb.ListRequest{})
			if err != nil {
				return nil, err
			}
			for stream.Receive() {
				texts = append(texts, stream.Msg().GetNote().GetText())
			}
			return texts, errors.Join(stream.Err(), stream.Close())
		},
		code: func(err error) codes.Code { return codes.Code(connect.CodeOf(err)) },
	}
	if !http2 {
		return out
	}
	out.talk = func(ctx context.Context) (func(string) error, func() (string, error), func() error) {
		stream, err := c.Talk(ctx)
		send := func(text string) error {
			if err != nil {
				return err
			}
			return stream.Send(&boardpb.TalkRequest{Author: "connect", Text: text})
		}
		receive := func() (string, error) {
			resp, err := stream.Receive()
			if errors.Is(err, io.EOF) {
				err = io.EOF
			}
			return resp.GetNote().GetText(), err
		}
		return send, receive, stream.CloseRequest
	}
	return out
}

// clients returns clients of all protocols, by name.
func (r *running) clients(t *testing.T) map[string]client {
	all := map[string]client{"grpc-go": grpcClient(r.dial(t))}
	for _, http2 := range []bool{false, true} {
		version := map[bool]string{false: " by HTTP/1.1", true: " by HTTP/2"}[http2]
		web := r.web(t, http2)
		all["Connect"+version] = connectClient(web, r.url(), http2)
		all["Connect with JSON"+version] = connectClient(web, r.url(), http2, connect.WithProtoJSON())
		all["gRPC-Web"+version] = connectClient(web, r.url(), http2, connect.WithGRPCWeb())
		if http2 {
			all["gRPC of connect-go"] = connectClient(web, r.url(), true, connect.WithGRPC())
		}
	}
	return all
}

// rest sends a request to the REST API.
func rest(t *testing.T, web *http.Client, method, url, body string, want int) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := web.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != want {
		t.Errorf("%s %s: %s %s, %v", method, url, resp.Status, text, err)
	}
	// protojson varies its spaces on purpose
	return strings.ReplaceAll(string(text), " ", "")
}

func TestAllProtocolsShareAPort(t *testing.T) {
	eachProgram(t, func(t *testing.T, r *running) {
		ctx := callContext(t)
		var want []string
		for name, c := range r.clients(t) {
			note, err := c.post(ctx, "ada", name)
			if err != nil || note.GetText() != name || note.GetId() != int64(len(want)+1) {
				t.Fatalf("%s: %v, %v", name, note, err)
			}
			want = append(want, name)
			if got, err := c.list(ctx); err != nil || !slices.Equal(got, want) {
				t.Errorf("%s: %q, %v, want %q", name, got, err, want)
			}
			for _, wrong := range []string{"", strings.Repeat("x", maxText)} {
				if _, err := c.post(ctx, "ada", wrong); c.code(err) != codes.InvalidArgument {
					t.Errorf("%s, a note of %d bytes: %v", name, len(wrong), err)
				}
			}
		}
		for _, http2 := range []bool{false, true} {
			web := r.web(t, http2)
			body := rest(t, web, "POST", r.url()+"/notes", `{"author":"bob","text":"rest"}`, 201)
			want = append(want, "rest")
			if !strings.Contains(body, fmt.Sprintf(`{"id":"%d","author":"bob","text":"rest"}`, len(want))) {
				t.Errorf("POST: %s", body)
			}
			if body := rest(t, web, "GET", r.url()+"/notes", "", 200); strings.Count(body, `"text"`) != len(want) {
				t.Errorf("GET: %s", body)
			}
			rest(t, web, "POST", r.url()+"/notes", `{"author":"bob"}`, 422)
			rest(t, web, "POST", r.url()+"/notes", `{"no":1}`, 400)
			rest(t, web, "POST", r.url()+"/notes", strings.Repeat("x", maxMessage+1), 413)
			rest(t, web, "DELETE", r.url()+"/notes", "", 405)
			rest(t, web, "GET", r.url()+"/else", "", 404)
			rest(t, web, "GET", r.url()+"/healthz", "", 200)
		}
	})
}

// TestTalk has streams in both directions, of which each message depends on the one before.
func TestTalk(t *testing.T) {
	eachProgram(t, func(t *testing.T, r *running) {
		ctx := callContext(t)
		for name, c := range r.clients(t) {
			if c.talk == nil {
				continue
			}
			send, receive, end := c.talk(ctx)
			for i := range 50 {
				text := fmt.Sprint(name, " ", i)
				if err := send(text); err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				if got, err := receive(); got != text || err != nil {
					t.Fatalf("%s: %q, %v, want %q", name, got, err, text)
				}
			}
			if err := end(); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			if got, err := receive(); err != io.EOF {
				t.Errorf("%s: at the end %q, %v", name, got, err)
			}
			// an error ends the stream of the client, too
			send, receive, _ = c.talk(ctx)
			_ = send("")
			if _, err := receive(); c.code(err) != codes.InvalidArgument {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}

func TestReflection(t *testing.T) {
	eachProgram(t, func(t *testing.T, r *running) {
		stream, err := grpc_reflection_v1.NewServerReflectionClient(r.dial(t)).ServerReflectionInfo(callContext(t))
		if err != nil {
			t.Fatal(err)
		}
		ask := func(req *grpc_reflection_v1.ServerReflectionRequest) *grpc_reflection_v1.ServerReflectionResponse {
			t.Helper()
			if err := stream.Send(req); err != nil {
				t.Fatal(err)
			}
			resp, err := stream.Recv()
			if err != nil {
				t.Fatal(err)
			}
			return resp
		}
		var names []string
		list := ask(&grpc_reflection_v1.ServerReflectionRequest{MessageRequest: &grpc_reflection_v1.ServerReflectionRequest_ListServices{}})
		for _, s := range list.GetListServicesResponse().GetService() {
			names = append(names, s.GetName())
		}
		if !slices.Contains(names, boardpbconnect.BoardName) || !slices.Contains(names, grpc_health_v1.Health_ServiceDesc.ServiceName) {
			t.Errorf("the services are %q", names)
		}
		file := ask(&grpc_reflection_v1.ServerReflectionRequest{
			MessageRequest: &grpc_reflection_v1.ServerReflectionRequest_FileContainingSymbol{FileContainingSymbol: boardpbconnect.BoardName},
		})
		if got := file.GetFileDescriptorResponse().GetFileDescriptorProto(); len(got) != 1 || !strings.Contains(string(got[0]), "TalkRequest") {
			t.Errorf("the file is %q", got)
		}
		if err := stream.CloseSend(); err != nil {
			t.Error(err)
		}
		if _, err := stream.Recv(); err != io.EOF {
			t.Errorf("at the end %v", err)
		}
	})
}

// TestOrderlyEnd ends the program during calls of Talk, and of health checks.
func TestOrderlyEnd(t *testing.T) {
	eachProgram(t, func(t *testing.T, r *running) {
		ctx := callContext(t)
		watching, stopWatching := context.WithCancel(ctx)
		defer stopWatching()
		watch, err := grpc_health_v1.NewHealthClient(r.dial(t)).Watch(watching, &grpc_health_v1.HealthCheckRequest{Service: boardpbconnect.BoardName})
		if err != nil {
			t.Fatal(err)
		}
		expect := func(want grpc_health_v1.HealthCheckResponse_ServingStatus) {
			t.Helper()
			if got, err := watch.Recv(); err != nil || got.GetStatus() != want {
				t.Fatalf("the health is %v, %v, want %v", got.GetStatus(), err, want)
			}
		}
		expect(grpc_health_v1.HealthCheckResponse_SERVING)
		ends := map[string]func() error{}
		for name, c := range r.clients(t) {
			if c.talk == nil {
				continue
			}
			send, receive, _ := c.talk(ctx)
			if err := send("here"); err != nil {
				t.Fatal(err)
			}
			ends[name] = func() error {
				for {
					// the notes of the others come first
					if _, err := receive(); err != nil {
						if c.code(err) != codes.Unavailable || !strings.Contains(err.Error(), errLeaving.text) {
							return err
						}
						return nil
					}
				}
			}
			if _, err := receive(); err != nil {
				t.Fatal(err)
			}
		}
		r.Cancel()
		expect(grpc_health_v1.HealthCheckResponse_NOT_SERVING)
		stopWatching()
		for name, end := range ends {
			if err := end(); err != nil {
				t.Errorf("%s: Talk ends with %v", name, err)
			}
		}
		r.End()
	})
}

// TestCallsThatDoNotEndAreCutOff has a client that watches the health forever.
func TestCallsThatDoNotEndAreCutOff(t *testing.T) {
	t.Parallel()
	r := start(t, false)
	watch, err := grpc_health_v1.NewHealthClient(r.dial(t)).Watch(callContext(t), &grpc_health_v1.HealthCheckRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := watch.Recv(); err != nil {
		t.Fatal(err)
	}
	r.End()
}
