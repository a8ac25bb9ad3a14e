package clients

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/valyala/fasthttp"
)

// browser is a Chromium that is told what to do through a pair of pipes: JSON
// messages with a zero byte behind each.
type browser struct {
	t       *testing.T
	in      *os.File
	out     *bufio.Reader
	last    int
	session string
}

// startBrowser starts a browser without a window, which ends with the test.
func startBrowser(t *testing.T, options ...string) *browser {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("a program gets no more than its three files on Windows")
	}
	path := program(t, "chromium", "chromium-browser", "google-chrome")
	commands, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	out, messages, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	log, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	// the sandbox is not for root, and the shared memory of containers is small;
	// a browser without a profile must not request updates
	options = append([]string{"--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
		"--disable-background-networking", "--disable-component-update", "--disable-sync", "--no-proxy-server",
		"--remote-debugging-pipe", "--user-data-dir=" + profileFolder(t)}, options...)
	cmd := command(t, path, options...)
	cmd.ExtraFiles = []*os.File{commands, messages}
	cmd.Stderr = log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = commands.Close()
	_ = messages.Close()
	t.Cleanup(func() {
		_ = in.Close()
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		_ = out.Close()
		_ = log.Close()
		if t.Failed() {
			said, _ := os.ReadFile(log.Name())
			t.Logf("%s says\n%s", path, said)
		}
	})
	return &browser{t: t, in: in, out: bufio.NewReader(out)}
}

// profileFolder returns a folder that is removed with the test, as soon as the
// last process of the browser has stopped writing to it.
func profileFolder(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "profile")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for end := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
			err := os.RemoveAll(dir)
			if err == nil {
				return
			}
			if time.Now().After(end) {
				t.Errorf("the profile of the browser cannot be removed: %v", err)
				return
			}
		}
	})
	return dir
}

// call has the browser do something, waits for that, and puts the result into
// result. A browser that does not answer is killed when its time is up.
func (b *browser) call(method string, params map[string]any, result any) {
	b.t.Helper()
	b.last++
	message := map[string]any{"id": b.last, "method": method, "params": params}
	if b.session != "" {
		message["sessionId"] = b.session
	}
	text, err := json.Marshal(message)
	if err != nil {
		b.t.Fatal(err)
	}
	if _, err := b.in.Write(append(text, 0)); err != nil {
		b.t.Fatalf("%s: %v", method, err)
	}
	for {
		text, err := b.out.ReadBytes(0)
		if err != nil {
			b.t.Fatalf("%s: the browser is gone: %v", method, err)
		}
		var answer struct {
			ID     int
			Result json.RawMessage
			Error  *struct{ Message string }
		}
		if err := json.Unmarshal(text[:len(text)-1], &answer); err != nil {
			b.t.Fatalf("%s: %v in %.200q", method, err, text)
		}
		if answer.ID != b.last {
			continue
		}
		if answer.Error != nil {
			b.t.Fatalf("%s: %s", method, answer.Error.Message)
		}
		if result != nil {
			if err := json.Unmarshal(answer.Result, result); err != nil {
				b.t.Fatalf("%s: %v in %.200q", method, err, answer.Result)
			}
		}
		return
	}
}

// open shows a page in a tab of its own.
func (b *browser) open(url string) {
	b.t.Helper()
	var target struct{ TargetID string }
	b.call("Target.createTarget", map[string]any{"url": "about:blank"}, &target)
	var attached struct{ SessionID string }
	b.call("Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &attached)
	b.session = attached.SessionID
	// scripts run in the page only when it is there
	b.call("Page.enable", nil, nil)
	b.call("Page.navigate", map[string]any{"url": url}, nil)
	for b.run("location.href + document.readyState") != url+"complete" {
		runtime.Gosched()
	}
}

// run returns the text that a script gives, which may be a promise.
func (b *browser) run(script string) string {
	b.t.Helper()
	var got struct {
		Result           struct{ Value any }
		ExceptionDetails *struct {
			Text      string
			Exception struct{ Description string }
		}
	}
	b.call("Runtime.evaluate", map[string]any{"expression": script, "awaitPromise": true, "returnByValue": true}, &got)
	if e := got.ExceptionDetails; e != nil {
		b.t.Fatalf("%s: %s %s", script, e.Text, e.Exception.Description)
	}
	return fmt.Sprint(got.Result.Value)
}

// startExample runs the example with a name on a port of its choice.
func startExample(t *testing.T, name string) (origin string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	build := command(t, "go", "build", "-o", path, "github.com/valyala/fasthttp/examples/"+name)
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	cmd := command(t, path, "-addr", "127.0.0.1:0")
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		if err := cmd.Wait(); err != nil {
			t.Errorf("the example ends with %v", err)
		}
	})
	line, err := bufio.NewReader(stdout).ReadString('\n')
	words := strings.Fields(line)
	if err != nil || len(words) == 0 {
		t.Fatalf("the example says %q, %v", line, err)
	}
	return "http://" + words[len(words)-1]
}

// TestChromiumShowsEvents has the page of the sse example in a browser: what is
// posted appears in it while the stream goes on.
func TestChromiumShowsEvents(t *testing.T) {
	skipOriginal(t)
	program(t, "chromium", "chromium-browser", "google-chrome")
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("there is no go to build the example with")
	}
	origin := startExample(t, "sse")
	b := startBrowser(t)
	b.open(origin + "/")

	// the page keeps its EventSource to itself: what it has shown tells when
	// the subscription is there
	const shown = `[...document.querySelectorAll('#list li')].map(li => li.textContent)`
	for b.run(`fetch('/events', {method: 'POST', body: 'ready'}).then(r => `+shown+`.includes('ready'))`) != "true" {
		runtime.Gosched()
	}
	const await = `new Promise(resolve => {
		const look = () => list.firstChild.textContent === want ? resolve('shown') : setTimeout(look, 5)
		look()
	})`
	for i, event := range []string{"first", "zwei — 二", "two\nlines", "<b>not bold</b>", strings.Repeat("long ", 20_000), "last"} {
		quoted, err := json.Marshal(event)
		if err != nil {
			t.Fatal(err)
		}
		if i%2 == 0 {
			// as the script of the page does it
			b.run(`fetch('/events', {method: 'POST', body: ` + string(quoted) + `}).then(r => r.status)`)
		} else {
			b.run(`text.value = ` + string(quoted) + `; document.forms[0].requestSubmit()`)
		}
		if got := b.run(`{ const want = ` + string(quoted) + `; ` + await + ` }`); got != "shown" {
			t.Fatalf("event %.40q: %s", event, got)
		}
	}
	// the order is that of the posts, with the newest on top
	got := b.run(`JSON.stringify(` + shown + `.filter(text => text !== 'ready').map(text => text.slice(0, 20)))`)
	if want := `["last","long long long long ","<b>not bold</b>","two\nlines","zwei — 二","first"]`; got != want {
		t.Errorf("the page shows %s, want %s", got, want)
	}
	if got := b.run(`performance.getEntriesByType('navigation')[0].nextHopProtocol`); got != "http/1.1" {
		t.Errorf("the page came over %s", got)
	}
}

// eventSource is a page that keeps what an EventSource gets.
const eventSource = `<!DOCTYPE html><script>
	const got = [], source = new EventSource('/events')
	source.onmessage = event => got.push(event.lastEventId + ':' + event.data)
</script>`

// TestChromiumGetsEventsOverTLS has each event arrive before the next one is made,
// encoded and encrypted. A producer learns that its page was closed.
func TestChromiumGetsEventsOverTLS(t *testing.T) {
	skipOriginal(t)
	program(t, "chromium", "chromium-browser", "google-chrome")
	cert, key, err := fasthttp.GenerateTestCertificate("127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	for name, wrap := range map[string]func(fasthttp.RequestHandler) fasthttp.RequestHandler{
		"plain":      func(h fasthttp.RequestHandler) fasthttp.RequestHandler { return h },
		"compressed": fasthttp.CompressHandler,
	} {
		t.Run(name, func(t *testing.T) {
			next, left := make(chan struct{}), make(chan error, 1)
			handler := wrap(func(ctx *fasthttp.RequestCtx) {
				switch string(ctx.Path()) {
				case "/":
					ctx.SuccessString("text/html", eventSource)
				case "/events":
					ctx.SetContentType("text/event-stream")
					ctx.SetBodyStreamWriter(func(w *bufio.Writer) {
						for i := 0; ; i++ {
							fmt.Fprintf(w, "id: %d\ndata: event %d\n\n", i, i)
							if err := w.Flush(); err != nil {
								left <- err
								return
							}
							<-next
						}
					})
				default:
					ctx.NotFound()
				}
			})
			s := &fasthttp.Server{Logger: logger{t}, Handler: func(ctx *fasthttp.RequestCtx) {
				handler(ctx)
				if coding := ctx.Response.Header.ContentEncoding(); ctx.IsBodyStream() && (len(coding) > 0) != (name == "compressed") {
					t.Errorf("the events have the coding %q", coding)
				}
			}}
			ln, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			served := make(chan error, 1)
			go func() { served <- s.ServeTLSEmbed(ln, cert, key) }()

			b := startBrowser(t, "--ignore-certificate-errors")
			b.open("https://" + ln.Addr().String() + "/")
			for i := range 3 {
				want := fmt.Sprintf("%d:event %d", i, i)
				if got := b.run(fmt.Sprintf(`new Promise(resolve => {
					const look = () => got.length > %d ? resolve(got[%d]) : setTimeout(look, 5)
					look()
				})`, i, i)); got != want {
					t.Errorf("the page got %q, want %q", got, want)
				}
				if i < 2 {
					next <- struct{}{}
				}
			}
			if got := b.run(`performance.getEntriesByType('navigation')[0].nextHopProtocol`); got != "http/1.1" {
				t.Errorf("the page came over %s", got)
			}
			b.run(`source.close()`)
			// the system takes some events until it knows
			for gone := false; !gone; {
				select {
				case next <- struct{}{}:
				case err := <-left:
					gone = err != nil
				}
			}
			// the browser holds its connections open, which are idle
			if err := s.Shutdown(); err != nil {
				t.Errorf("Shutdown: %v", err)
			}
			if err := <-served; err != nil {
				t.Errorf("Serve: %v", err)
			}
		})
	}
}
