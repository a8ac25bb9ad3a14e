package docs

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/parser"
	"go/token"
	"go/types"
	"math"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/valyala/fasthttp/internal/engine"
	"github.com/valyala/fasthttp/internal/hpack"
	"github.com/valyala/fasthttp/internal/http2"
	"github.com/valyala/fasthttp/internal/http2body"
	"github.com/valyala/fasthttp/internal/servertest"
	"github.com/valyala/fasthttp/requestid"
)

// TestLimitsInSentencesAreThoseOfTheCode checks the limits and the defaults in the text of documents.
// Tests beside the code check the tables of security.md.
func TestLimitsInSentencesAreThoseOfTheCode(t *testing.T) {
	size := func(n int64) string { return servertest.Size(n).String() }
	seconds := func(d time.Duration) string { return fmt.Sprintf("%v seconds", d.Seconds()) }
	wait := seconds(http2.DefaultStall * time.Millisecond)
	piece := size(http2body.MaxHeld / 2)
	idle := time.Duration(constantOf(t, "../internal/engine/portable_workers.go", "defaultIdleWorker"))
	held := 2*http2.DefaultBodies + http2.DefaultStreams*http2.DefaultWindow
	for _, sentence := range []struct{ file, text string }{
		{"security.md", fmt.Sprintf("accepts only %d to %d harmless characters", requestid.MinLength, requestid.MaxLength)},
		{"security.md", fmt.Sprintf("To keep the connection, the server discards at most %s of a rejected body.", size(constantOf(t, "../h1exchange.go", "drainLimit")))},
		{"security.md", fmt.Sprintf("bytes in a second, after %s of grace", seconds(time.Duration(constantOf(t, "../h1conn_deadlines.go", "defaultBodyRateGrace"))))},
		{"security.md", fmt.Sprintf("Without GOMEMLIMIT bodies may take %d GiB.", servertest.DefaultBodyMemory>>30)},
		{"security.md", fmt.Sprintf("delays the service for at most %s a message", seconds(time.Duration(constantOf(t, "../restart/notify.go", "notifyTime"))))},
		{"security.md", fmt.Sprintf("resets within %d ms,", http2.QuickReset)},
		{"security.md", fmt.Sprintf("one for each stream that ends well, and %d a second.", http2.DefaultWastedRate)},
		{"security.md", fmt.Sprintf("for WINDOW_UPDATE of less than %d bytes that does not answer content", constantOf(t, "../internal/http2/limits.go", "smallFrame"))},
		{"security.md", fmt.Sprintf("The bucket regains %d a second,", http2.DefaultGlitchRate)},
		{"security.md", fmt.Sprintf("| %d frames, none empty;", http2.DefaultContinuations)},
		{"security.md", fmt.Sprintf("each field counts %d bytes more than its text,", hpack.EntryOverhead)},
		{"security.md", fmt.Sprintf("content waits for a window for %s at most,", wait)},
		{"security.md", fmt.Sprintf("in %s the client must take %s of a stream,", wait, size(http2.DefaultMinData))},
		{"security.md", fmt.Sprintf("1.5 times `MaxIdleWorkerDuration`, %s by default", seconds(idle+idle/2))},
		{"security.md", fmt.Sprintf("each may run %d handlers at once.", http2.DefaultStreams)},
		{"security.md", fmt.Sprintf("take as little as %s of each in %s (or", size(http2.DefaultMinData), wait)},
		{"security.md", fmt.Sprintf("holds two pieces of %s (", piece)},
		{"security.md", fmt.Sprintf("holds at most a window of received bytes, %s, and %s to be sent.", size(http2.DefaultWindow), size(http2body.MaxTunnel))},
		{"security.md", fmt.Sprintf("take %s of what waits in %s, as of any stream", size(http2.DefaultMinData), wait)},
		{"security.md", fmt.Sprintf("the %s below start after them", seconds(http2.DefaultGreeting*time.Millisecond))},
		{"security.md", fmt.Sprintf("a body stream that is not read, the client holds %s (", size(constantOf(t, "../client_h2.go", "h2ClientWindow")))},
		{"security.md", fmt.Sprintf("closed, if %d probes in turn have no answer", constantOf(t, "../internal/engine/options_linux.go", "keepaliveProbes"))},
		{"security.md", fmt.Sprintf("nothing more is read, closed after %d ms |", engine.LingerTime.Milliseconds())},
		{"security.md", fmt.Sprintf("the windows of all streams, some %.0f MiB,", math.Ceil(float64(held)/(1<<20)))},
		{"security.md", fmt.Sprintf("A test holds all parsers below %d,", constantOf(t, "../hostile_test.go", "memoryPerByte"))},
		{"security.md", fmt.Sprintf("whose content has limits of its own, below %d (", constantOf(t, "../hostile_test.go", "decodedPerByte"))},
		{"security.md", fmt.Sprintf("keeps less than %s in a pool", size(constantOf(t, "../ctx_memory_test.go", "most")))},
		{"security.md", fmt.Sprintf("fuzzes an eighth of the targets for %s seconds each, and `.ci/run all` each of them for %s seconds;", find(t, "../.ci/run", `\|\| printf (\d+)s\)`), find(t, "../.ci/run", `printf (\d+)s \|\|`))},
		{"faq.md", fmt.Sprintf("CI fails if a request takes %s %% more instructions", find(t, "../bench/cmd/guard/main.go", `&opts\.margin, "margin", (\d+)`))},
	} {
		if text := strings.Join(strings.Fields(read(t, sentence.file)), " "); !strings.Contains(text, sentence.text) {
			t.Errorf("%s does not have: %s", sentence.file, sentence.text)
		}
	}
	servertest.CheckLimits(t, "security.md", "Limit of a tunnel over HTTP/2", map[string]any{
		"extended CONNECT":                                     "off",
		"tunnels of a connection, and other streams":           http2.DefaultStreams,
		"received bytes that wait for the handler":             servertest.Size(http2.DefaultWindow),
		"bytes to send that wait after a write":                servertest.Size(http2body.MaxTunnel),
		"time in which the client takes 1 KiB of those":        http2.DefaultStall * time.Millisecond,
		"time for the rest after `Close` of a client's tunnel": time.Duration(constantOf(t, "../client_h2.go", "tunnelCloseTime")),
	})
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
