package docs

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/parser"
	"go/token"
	"go/types"
	"math"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/fasthttptest"
	"github.com/valyala/fasthttp/internal/coding"
	"github.com/valyala/fasthttp/internal/engine"
	"github.com/valyala/fasthttp/internal/hpack"
	"github.com/valyala/fasthttp/internal/http1"
	"github.com/valyala/fasthttp/internal/http2"
	"github.com/valyala/fasthttp/internal/http2body"
	"github.com/valyala/fasthttp/internal/servertest"
	"github.com/valyala/fasthttp/requestid"
	"github.com/valyala/fasthttp/websocket"
)

// TestLimitsInSentencesAreThoseOfTheCode checks the limits and the defaults in the text of documents.
// Tests beside the code check the tables of security.md.
func TestLimitsInSentencesAreThoseOfTheCode(t *testing.T) {
	for file, sentences := range map[string][]string{
		"security.md":        append(sentencesAboutServers(t), sentencesAboutHTTP2(t)...),
		"migrating.md":       sentencesOfMigrating(t),
		"websocket.md":       sentencesOfWebSocket(t),
		"faq.md":             sentencesOfFAQ(t),
		"../README.md":       sentencesOfReadme(t),
		"../CONTRIBUTING.md": {fmt.Sprintf("You need Go %s or newer", oldestGo(t))},
	} {
		text := strings.Join(strings.Fields(read(t, file)), " ")
		for _, sentence := range sentences {
			if !strings.Contains(text, sentence) {
				t.Errorf("%s does not have: %s", file, sentence)
			}
		}
	}
}

// TestLimitsOfTunnelsAreThoseOfTheCode compares a table of security.md with the code.
func TestLimitsOfTunnelsAreThoseOfTheCode(t *testing.T) {
	servertest.CheckLimits(t, "security.md", "Limit of a tunnel over HTTP/2", map[string]any{
		"extended CONNECT":                                     "off",
		"tunnels of a connection, and other streams":           http2.DefaultStreams,
		"received bytes that wait for the handler":             servertest.Size(http2.DefaultWindow),
		"bytes to send that wait after a write":                servertest.Size(http2body.MaxTunnel),
		"time in which the client takes 1 KiB of those":        stall,
		"time for the rest after `Close` of a client's tunnel": time.Duration(constantOf(t, "../client_h2.go", "tunnelCloseTime")),
	})
}

// stall is how long content waits for a window.
const stall = http2.DefaultStall * time.Millisecond

func size(n int64) string { return servertest.Size(n).String() }

func seconds(d time.Duration) string { return fmt.Sprintf("%v seconds", d.Seconds()) }

// secondsOf returns a time declared as a constant of a file.
func secondsOf(t *testing.T, file, name string) string {
	t.Helper()
	return seconds(time.Duration(constantOf(t, file, name)))
}

func sentencesAboutServers(t *testing.T) []string {
	idle := time.Duration(constantOf(t, "../internal/engine/portable_workers.go", "defaultIdleWorker"))
	return []string{
		fmt.Sprintf("accepts only %d to %d harmless characters", requestid.MinLength, requestid.MaxLength),
		fmt.Sprintf("To keep the connection, the server discards at most %s of a rejected body.", size(constantOf(t, "../h1exchange.go", "drainLimit"))),
		fmt.Sprintf("bytes in a second, after %s of grace", secondsOf(t, "../h1conn_deadlines.go", "defaultBodyRateGrace")),
		fmt.Sprintf("Without GOMEMLIMIT bodies may take %d GiB.", servertest.DefaultBodyMemory>>30),
		fmt.Sprintf("delays the service for at most %s a message", secondsOf(t, "../restart/notify.go", "notifyTime")),
		fmt.Sprintf("1.5 times `MaxIdleWorkerDuration`, %s by default", seconds(idle+idle/2)),
		fmt.Sprintf("holds two pieces of %s (", size(http2body.MaxHeld/2)),
		fmt.Sprintf("closed, if %d probes in turn have no answer", constantOf(t, "../internal/engine/options_linux.go", "keepaliveProbes")),
		fmt.Sprintf("nothing more is read, closed after %d ms |", engine.LingerTime.Milliseconds()),
		fmt.Sprintf("Another test holds all parsers below %d,", constantOf(t, "../hostile_test.go", "memoryPerByte")),
		fmt.Sprintf("whose content has limits of its own, below %d (", constantOf(t, "../hostile_test.go", "decodedPerByte")),
		fmt.Sprintf("keeps less than %s in a pool", size(constantOf(t, "../ctx_memory_test.go", "most"))),
		fmt.Sprintf("fuzzes an eighth of the targets for %s seconds each, and `.ci/run all` each of them for %s seconds;", find(t, "../.ci/run", `\|\| printf (\d+)s\)`), find(t, "../.ci/run", `printf (\d+)s \|\|`)),
	}
}

func sentencesAboutHTTP2(t *testing.T) []string {
	wait := seconds(stall)
	held := 2*http2.DefaultBodies + http2.DefaultStreams*http2.DefaultWindow
	return []string{
		fmt.Sprintf("resets within %d ms,", http2.QuickReset),
		fmt.Sprintf("one for each stream that ends well, and %d a second.", http2.DefaultWastedRate),
		fmt.Sprintf("for WINDOW_UPDATE of less than %d bytes that does not answer content", constantOf(t, "../internal/http2/limits.go", "smallFrame")),
		fmt.Sprintf("The bucket regains %d a second,", http2.DefaultGlitchRate),
		fmt.Sprintf("| %d frames, none empty;", http2.DefaultContinuations),
		fmt.Sprintf("each field counts %d bytes more than its text,", hpack.EntryOverhead),
		fmt.Sprintf("content waits for a window for %s at most,", wait),
		fmt.Sprintf("in %s the client must take %s of a stream,", wait, size(http2.DefaultMinData)),
		fmt.Sprintf("each may run %d handlers at once.", http2.DefaultStreams),
		fmt.Sprintf("take as little as %s of each in %s (or", size(http2.DefaultMinData), wait),
		fmt.Sprintf("holds at most a window of received bytes, %s, and %s to be sent.", size(http2.DefaultWindow), size(http2body.MaxTunnel)),
		fmt.Sprintf("take %s of what waits in %s, as of any stream", size(http2.DefaultMinData), wait),
		fmt.Sprintf("the %s below start after them", seconds(http2.DefaultGreeting*time.Millisecond)),
		fmt.Sprintf("a body stream that is not read, the client holds %s (", size(constantOf(t, "../client_h2.go", "h2ClientWindow"))),
		fmt.Sprintf("the windows of all streams, some %.0f MiB,", math.Ceil(float64(held)/(1<<20))),
	}
}

// oldestGo returns the release of Go that go.mod names.
func oldestGo(t *testing.T) string { return find(t, "../go.mod", `(?m)^go (\d+\.\d+)`) }

func sentencesOfReadme(t *testing.T) []string {
	return []string{
		fmt.Sprintf("You need Go %s or newer,", oldestGo(t)),
		fmt.Sprintf("For all: Go %s,", oldestGo(t)),
		fmt.Sprintf("| request head | up to %s, %d fields | up to the read buffer, 4 KiB | up to %s |", size(http1.DefaultMaxHead), http1.DefaultMaxFields, size(http.DefaultMaxHeaderBytes)),
		fmt.Sprintf("| request body | up to %s by default |", size(fasthttp.DefaultMaxRequestBodySize)),
	}
}

func sentencesOfFAQ(t *testing.T) []string {
	late, more := statusesOfLateHandlers(t)
	return []string{
		fmt.Sprintf("CI fails if a request takes %s %% more instructions", find(t, "../bench/cmd/guard/main.go", `&opts\.margin, "margin", (\d+)`)),
		fmt.Sprintf("`go.mod` names the oldest one: Go %s.", oldestGo(t)),
		fmt.Sprintf("so that a test sees 0x%X bytes", poison(t)),
		fmt.Sprintf("answers with %d at the limit,", late),
		fmt.Sprintf("beyond these places clients get %d.", more),
		fmt.Sprintf("The one name that v1.78.0 adds, `%s`, is here.", nameAdded(t)),
	}
}

// statusesOfLateHandlers returns the statuses that a TimeoutHandler sends for a late handler, and for a
// request beyond Server.Concurrency of them.
func statusesOfLateHandlers(t *testing.T) (late, more int) {
	answered := make(chan struct{})
	server := fasthttptest.NewServer(t, &fasthttp.Server{
		Concurrency: 1,
		Handler:     fasthttp.TimeoutHandler(func(*fasthttp.RequestCtx) { <-answered }, time.Millisecond, ""),
	})
	defer close(answered)
	for _, status := range []*int{&late, &more} {
		var err error
		if *status, _, err = server.Client.Get(nil, server.URL); err != nil {
			t.Error(err)
		}
	}
	return late, more
}

// nameAdded returns the only name that v1.78.0 adds to the API.
func nameAdded(t *testing.T) string {
	m := regexp.MustCompile(`^pkg fasthttp, method \(\*(\w+)\) (\w+)\(.*\n$`).FindStringSubmatch(read(t, "../api/fasthttp-1.78.txt"))
	if m == nil {
		t.Fatal("api/fasthttp-1.78.txt does not have one method alone")
	}
	return m[1] + "." + m[2]
}

var inWords = []string{"none", "one", "two", "three", "four", "five"}

// poison returns the byte that fills released memory in tests.
func poison(t *testing.T) int64 {
	return constantOf(t, "../internal/bufpool/poison_on.go", "poisonByte")
}

func sentencesOfMigrating(t *testing.T) []string {
	wait := seconds(stall)
	head := fmt.Sprintf("%s and %d fields", size(http1.DefaultMaxHead), http1.DefaultMaxFields)
	return []string{
		fmt.Sprintf("| %s; %s for the request line; `ReadBufferSize` if it is set |", head, size(http1.DefaultMaxLine)),
		fmt.Sprintf("| %s, %s for the request line | %s, where each field counts %d bytes extra;", head, size(http1.DefaultMaxLine), head, hpack.EntryOverhead),
		fmt.Sprintf("extensions by the grammar, %s per line;", size(http1.MaxChunkLine)),
		fmt.Sprintf("| %d fields and %s; of the names in `Trailer` fields %d count,", http1.MaxTrailerFields, size(http1.MaxTrailers), http1.MaxTrailerNames),
		fmt.Sprintf("no more than %d informational responses", constantOf(t, "../response.go", "maxInformational")),
		fmt.Sprintf("| a body may have %d: `ctx.PostBodyError()`", constantOf(t, "../request.go", "maxFormArgs")),
		fmt.Sprintf("For a request of a server the limit is %s by default.", size(fasthttp.DefaultMaxRequestBodySize)),
		fmt.Sprintf("is not set, may decode to %s.", size(coding.DefaultDecodedSize)),
		fmt.Sprintf("All buffered bodies of a server share %d GiB,", servertest.DefaultBodyMemory>>30),
		fmt.Sprintf("to allow single bodies of more than %s,", size(servertest.DefaultBodyMemory/2)),
		fmt.Sprintf("as the server permits, %d until its settings arrive;", constantOf(t, "../internal/http2/conn.go", "assumedStreams")),
		fmt.Sprintf("each with up to %d handlers:", http2.DefaultStreams),
		fmt.Sprintf("a head has %s |", seconds(http2.DefaultBlock*time.Millisecond)),
		fmt.Sprintf("the same, but for %s at most:", wait),
		fmt.Sprintf("the system probes peers after %s of silence,", seconds(time.Duration(constantOf(t, "../server_serve.go", "defaultKeepalive")))),
		fmt.Sprintf("at once if the client has reset the connection or a write fails, after %s if", secondsOf(t, "../fasthttpadaptor/context.go", "leaveWait")),
		fmt.Sprintf("with the byte 0x%X,", poison(t)),
		fmt.Sprintf("The only name that v1.78.0 adds, `%s`, is there as well", nameAdded(t)),
		fmt.Sprintf("| at most %s are skipped |", inWords[http1.SkipEmptyLines([]byte(strings.Repeat("\r\n", 9)))/2]),
		fmt.Sprintf("`BodyUncompressed` undoes up to %s codings.", inWords[coding.MaxApplied]),
		fmt.Sprintf("You need Go %s or newer,", oldestGo(t)),
		fmt.Sprintf("| no limit by default | %s |", size(websocket.DefaultReadLimit)),
		fmt.Sprintf("performs the closing handshake, for %s at most |", seconds(websocket.DefaultCloseTimeout)),
	}
}

func sentencesOfWebSocket(t *testing.T) []string {
	write := time.Duration(constantOf(t, "../websocket/serve.go", "defaultWriteTimeout"))
	return []string{
		fmt.Sprintf("`HTTP2Config.WriteByteTimeout`, which is %s by default;", seconds(stall)),
		fmt.Sprintf("| size of a received message, after decompression | %s |", size(websocket.DefaultReadLimit)),
		fmt.Sprintf("| bytes that wait for the peer | %s |", size(constantOf(t, "../websocket/serve.go", "defaultQueue"))),
		fmt.Sprintf("| time for the peer to accept sent data | %v s for 64 KiB (Socket); none (Conn) |", write.Seconds()),
		fmt.Sprintf("| time for the closing handshake | %v s |", websocket.DefaultCloseTimeout.Seconds()),
		fmt.Sprintf("`DefaultDialer` has a limit of %s and", seconds(websocket.DefaultDialer.HandshakeTimeout)),
		fmt.Sprintf("A message has %s at most unless `ReadLimit` is set,", size(websocket.DefaultReadLimit)),
	}
}

// constantOf returns the value of a constant of a file. Its expression has numbers, and units of time,
// but no other names.
func constantOf(t *testing.T, file, name string) int64 {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	var found ast.Expr
	ast.Inspect(parsed, func(n ast.Node) bool {
		if spec, ok := n.(*ast.ValueSpec); ok && len(spec.Values) == 1 && spec.Names[0].Name == name {
			found = spec.Values[0]
		}
		return found == nil
	})
	if found == nil {
		t.Errorf("%s has no constant %s", file, name)
		return 0
	}
	value, err := types.Eval(token.NewFileSet(), nil, token.NoPos, inNanoseconds.Replace(types.ExprString(found)))
	if err != nil || value.Value == nil {
		t.Errorf("%s: %s is no number: %v", file, name, err)
		return 0
	}
	n, _ := constant.Int64Val(constant.ToInt(value.Value))
	return n
}

var inNanoseconds = strings.NewReplacer("time.Millisecond", "1000000", "time.Second", "1000000000")

// find returns the first group of a pattern in a file.
func find(t *testing.T, file, pattern string) string {
	t.Helper()
	m := regexp.MustCompile(pattern).FindStringSubmatch(read(t, file))
	if m == nil {
		t.Fatalf("%s does not match %s", file, pattern)
	}
	return m[1]
}
