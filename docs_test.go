package fasthttp

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/valyala/fasthttp/internal/coding"
	"github.com/valyala/fasthttp/internal/dial"
	"github.com/valyala/fasthttp/internal/engine"
	"github.com/valyala/fasthttp/internal/files"
	"github.com/valyala/fasthttp/internal/http1"
	"github.com/valyala/fasthttp/internal/http2body"
	"github.com/valyala/fasthttp/internal/patience"
	"github.com/valyala/fasthttp/internal/proxied"
	"github.com/valyala/fasthttp/internal/servertest"
	"github.com/valyala/fasthttp/internal/tlswire"
)

type size = servertest.Size

// documentedLimits are the limits in docs/security.md. A limit without a default is
// nil in the map, and "none" in the document.
func documentedLimits() map[string]any {
	var s Server
	set := s.settings()
	// handshakes have more time in tests
	extended := patience.Handshake - patience.DefaultHandshake
	return map[string]any{
		"request line":                               size(http1.DefaultMaxLine),
		"head of a request":                          size(http1.DefaultMaxHead),
		"field lines of a head":                      http1.DefaultMaxFields,
		"empty lines before a request":               maxEmptyLines / len("\r\n"),
		"body of a request":                          size(set.maxBodySize),
		"body that a handler reads from a stream":    nil,
		"wait of a request for its turn":             nil,
		"bodies of all requests":                     size(defaultBodyMemory),
		"buffer of a body that is not counted there": size(uncountedBody),
		"line of a chunk":                            size(http1.MaxChunkLine),
		"chunk extensions of a message":              size(http1.MaxChunkExtensions),
		"trailer section":                            size(http1.MaxTrailers),
		"trailer fields":                             http1.MaxTrailerFields,
		"connections":                                set.concurrency,
		"connections from an address, or an IPv6 network of 64 bits":                       nil,
		"requests of a connection":                                                         nil,
		"time for a request":                                                               nil,
		"time for a head":                                                                  nil,
		"bytes of a body in a second":                                                      nil,
		"time that a client may lose against that rate":                                    set.bodyRateGrace,
		"time for a response":                                                              nil,
		"time between requests":                                                            nil,
		"time for a TLS handshake":                                                         s.handshakeTimeout() - extended,
		"silence before the system probes the peer":                                        time.Duration(defaultKeepalive),
		"TLS handshakes that compute at once, for each processor":                          engine.HandshakesPerProc,
		"unsent answers to messages of TLS itself":                                         size(tlswire.MaxUnsent),
		"time for a header of the PROXY protocol":                                          (&Server{ProxyProtocol: new(ProxyProtocol)}).proxyTimeout() - extended,
		"header of the PROXY protocol":                                                     size(proxied.MaxSize),
		"connections that are refused at once":                                             maxRefusals,
		"TLS connections that are refused at once":                                         maxTLSRefusals,
		"handlers under `TimeoutHandler`":                                                  set.concurrency,
		"pipelined requests before others have a turn":                                     pipelineBatch,
		"names in `Trailer` fields":                                                        http1.MaxTrailerNames,
		"bytes of responses before they are written":                                       size(flushSize),
		"body that a handler left unread, and that is drained":                             size(drainLimit),
		"bytes after a last response, which are discarded so that the response can arrive": size(engine.LingerSize),
		"the same with HTTP/2, and of connections that are refused":                        size(engine.LingerSmallSize),
		"time for the first byte of that":                                                  engine.LingerTime,
		"time between bytes of that":                                                       engine.LingerPause,
		"time for all of that":                                                             engine.LingerMaxTime,
		"bytes of that in a second, after the first 500 ms":                                size(engine.LingerRate),
		"content codings of one body":                                                      coding.MaxApplied,
		"content codings of a form":                                                        1, // TestEncodedForms
		"what the body of a request decodes to":                                            size(set.maxBodySize),
		"what the body of a response decodes to":                                           size(coding.DefaultDecodedSize),
		"window of a zstd body":                                                            size(coding.ZstdContentWindow),
		"files of a form that are in memory":                                               size(formMemory),
		"arguments of a body that is a form":                                               maxFormArgs,
		"parts of a form":                                                                  1000, // of mime/multipart: TestMultipartPartsAreLimited
		"ranges of a request":                                                              files.MaxRanges,
		"cached files":                                                                     files.MaxCachedFiles,
		"cached content":                                                                   size(files.MaxCachedBytes),
		"cached open files":                                                                files.MaxCachedOpen,
		"size of a file that is compressed":                                                size(files.MaxCompressed),
		"size of one that is compressed in memory":                                         size(files.MaxCompressedInMemory),
		"what was compressed in memory with `FS.SkipCache`":                                size(files.MaxEncodedKept),
		"size of a file that has a strong entity tag":                                      size(files.MaxHashed),
		"head of a response":                                                               size(http1.DefaultMaxHead),
		"informational responses before the final one":                                     maxInformational,
		"body of a response":                                                               nil,
		"connections to a host":                                                            DefaultMaxConnsPerHost,
		"time an unused connection is kept":                                                DefaultMaxIdleConnDuration,
		"body of an unwanted response, which is drained":                                   size(maxDrained),
		"attempts":                                 DefaultMaxIdemponentCallAttempts,
		"redirects of `Get`":                       maxGetRedirects,
		"time for a call":                          nil,
		"time for a dial":                          DefaultDialTimeout,
		"names that a dialer remembers":            dial.MaxNames,
		"addresses of a name":                      dial.MaxAddresses,
		"requests of a `PipelineClient` that wait": DefaultMaxPendingRequests,

		"received bytes that an `EventHandler` leaves unconsumed":              size(maxEventInput),
		"output of an `EventConn` that waits":                                  size(maxQueued),
		"time in which the peer takes 64 KiB of that":                          nil,
		"the same once the handler has called `Close`, or the input has ended": endTimeout,
	}
}

// documentedHTTP2Limits are the limits of an HTTP/2 connection.
func documentedHTTP2Limits() map[string]any {
	var s Server
	s.Protocols.SetHTTP2(true)
	s.prepare()
	l := &s.h2.limits
	milliseconds := func(n int) time.Duration { return time.Duration(n) * time.Millisecond }
	return map[string]any{
		"streams that are open": l.Streams,
		"handlers that run":     l.Streams,
		"requests whose handlers run or wait, also after a reset":                                 4 * l.Streams, // TestEachLimitHasItsReaction
		"header section, counting 32 bytes more for each field":                                   size(l.HeaderList),
		"fields of a header section without pseudo-fields, crumbs of cookies one by one":          l.Fields,
		"header sections of all requests together":                                                size(l.PendingHeads),
		"CONTINUATION frames of a header block, none empty":                                       l.Continuations,
		"content of a response that is a stream, while the client takes none":                     size(http2body.MaxHeld), // TestUnreadResponsesOfHTTP2HoldLittle
		"time for the rest of a header block":                                                     milliseconds(l.Block),
		"payload of a frame":                                                                      size(l.Frame),
		"content of a request that the handler has not read":                                      size(l.Window),
		"the same of all requests together":                                                       size(l.ConnWindow),
		"bodies that are buffered, of all requests together":                                      size(l.Bodies),
		"answers to frames that the client does not take":                                         size(l.Output),
		"settings of a frame":                                                                     l.Settings,
		"table of received fields":                                                                size(l.DecoderTable),
		"table of sent fields":                                                                    size(l.EncoderTable),
		"aborted streams":                                                                         l.Wasted,
		"aborted streams, in a second":                                                            l.WastedRate,
		"frames that bring nothing":                                                               l.Glitches,
		"frames that bring nothing, in a second":                                                  l.GlitchRate,
		"time for the preface, from its first byte":                                               milliseconds(l.Preface),
		"time for the preface, SETTINGS and the acknowledgement of those of the server, together": milliseconds(l.Greeting),
		"time in which content must get some of a window that it waits for":                       milliseconds(l.Stall),
		"how much of a window that is":                                                            size(l.MinData),
		"time in which a client must take some bytes":                                             h2WriteTime,
		"time without a frame before a PING asks for one":                                         nil,
		"time for the answer to that":                                                             h2WriteTime,
	}
}

// TestDocumentedSettingsOfHTTP2 checks that docs/security.md lists all settings of HTTP/2, and
// no others.
func TestDocumentedSettingsOfHTTP2(t *testing.T) {
	settings := map[string]bool{}
	for f := range reflect.TypeFor[HTTP2Config]().Fields() {
		if kind := f.Type.Kind(); kind != reflect.Func && kind != reflect.Bool {
			settings[f.Name] = true
		}
	}
	limits := documentedHTTP2Limits()
	name := regexp.MustCompile("`([A-Za-z.]+)`")
	for _, row := range servertest.TableRows(t, "docs/security.md", "Limit") {
		if _, ours := limits[row[0]]; !ours {
			continue
		}
		for _, m := range name.FindAllStringSubmatch(row[2], -1) {
			if of, ok := strings.CutPrefix(m[1], "Server."); ok {
				if _, ok := reflect.TypeFor[Server]().FieldByName(of); !ok {
					t.Errorf("%s: there is no %s", row[0], m[1])
				}
			} else if _, ok := reflect.TypeFor[HTTP2Config]().FieldByName(m[1]); !ok {
				t.Errorf("%s: there is no %s", row[0], m[1])
			}
			delete(settings, m[1])
		}
	}
	for setting := range settings {
		t.Errorf("%s is not in docs/security.md", setting)
	}
}

// TestDocumentedLimitsAreThoseOfTheCode compares the limits in docs/security.md with
// the code.
func TestDocumentedLimitsAreThoseOfTheCode(t *testing.T) {
	limits := documentedLimits()
	maps.Copy(limits, documentedHTTP2Limits())
	servertest.CheckLimits(t, "docs/security.md", "Limit", limits)
}

// TestDocumentedTestsAreThere checks that the tests named in README.md and in docs exist, and that
// docs/security.md names all fuzz tests.
func TestDocumentedTestsAreThere(t *testing.T) {
	servertest.WithoutGoroutines(t)
	t.Parallel()
	all := testNames(t)
	name := regexp.MustCompile("`((?:[a-z0-9/]+\\.)?(?:Test|Fuzz)[A-Za-z0-9]+)`")
	fuzzed := map[string]bool{}
	for _, file := range []string{"README.md", "docs/from-net-http.md", "docs/http.md", "docs/security.md", "docs/websocket.md"} {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		found := name.FindAllSubmatch(data, -1)
		if len(found) == 0 {
			t.Errorf("%s names no test", file)
		}
		for _, m := range found {
			if !all[string(m[1])] {
				t.Errorf("%s names %s, which does not exist", file, m[1])
			}
			fuzzed[string(m[1])] = fuzzed[string(m[1])] || file == "docs/security.md"
		}
	}
	for _, test := range slices.Sorted(maps.Keys(all)) {
		if strings.HasPrefix(path.Ext("."+test), ".Fuzz") && !fuzzed[test] {
			t.Errorf("docs/security.md does not name %s", test)
		}
	}
}

// TestDocumentedPlacesAreThere checks that the functions and files named in the tables of
// docs/http.md exist.
func TestDocumentedPlacesAreThere(t *testing.T) {
	servertest.WithoutGoroutines(t)
	t.Parallel()
	place := regexp.MustCompile("`([a-z0-9_/]+\\.go)`(?: `([A-Za-z0-9.]+)`)?")
	places := 0
	for _, row := range servertest.TableRows(t, "docs/http.md", "Section") {
		where := row[2]
		found := place.FindAllStringSubmatch(where, -1)
		if len(found) == 0 && where != "–" {
			t.Errorf("%s: no place in %q", row[0], where)
		}
		for _, m := range found {
			places++
			file, err := parser.ParseFile(token.NewFileSet(), m[1], nil, parser.SkipObjectResolution)
			if err != nil {
				t.Errorf("%s: %v", row[0], err)
				continue
			}
			if m[2] != "" && !declares(file, m[2]) {
				t.Errorf("%s: %s does not declare %s", row[0], m[1], m[2])
			}
		}
	}
	if places < 20 {
		t.Errorf("only %d places", places)
	}
}

// declares reports whether a file has the function, or the method as "Type.Name".
func declares(file *ast.File, name string) bool {
	if dot := strings.IndexByte(name, '.'); dot >= 0 {
		name = name[dot+1:]
	}
	return slices.ContainsFunc(file.Decls, func(decl ast.Decl) bool {
		f, ok := decl.(*ast.FuncDecl)
		return ok && f.Name.Name == name
	})
}

// testNames returns the names of all tests of this module, and of the module http3. Names
// outside of the root package have their folder in front.
func testNames(t *testing.T) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	err := fs.WalkDir(os.DirFS("."), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.IsDir() {
			return err
		}
		base := path.Base(name)
		if _, err := os.Stat(path.Join(name, "go.mod")); name != "." && name != "http3" && (err == nil || base[0] == '.' || base == "testdata") {
			return fs.SkipDir
		}
		for test := range testsIn(t, name) {
			if name != "." {
				test = name + "." + test
			}
			names[test] = true
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}
