package clients

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/compat/internal/process"
)

// browser is a Chromium that the test controls through two pipes, with JSON messages
// that end in a zero byte.
type browser struct {
	t       *testing.T
	in      *os.File
	out     *bufio.Reader
	last    int
	session string
}

// chromium returns the path of a Chromium, or skips the test.
func chromium(t *testing.T) string {
	t.Helper()
	return program(t, "chromium", "chromium-browser", "google-chrome")
}

// startBrowser starts a browser without a window. The end of the test ends it.
func startBrowser(t *testing.T, options ...string) *browser {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("a program gets no more than its three files on Windows")
	}
	path := chromium(t)
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
	// the sandbox does not work for root, and containers have little shared memory;
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

// profileFolder returns a folder. The end of the test removes it, as soon as the
// last process of the browser has stopped writing to it.
func profileFolder(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "profile")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		process.Await(t, "the end of the browser's profile", func() error { return os.RemoveAll(dir) })
	})
	return dir
}

// call calls a method of the browser, and stores its result in result. It kills a
// browser that does not respond in time.
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
			b.t.Fatalf("%s: the browser has ended: %v", method, err)
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

// open shows a page in a new tab.
func (b *browser) open(url string) {
	b.t.Helper()
	var target struct{ TargetID string }
	b.call("Target.createTarget", map[string]any{"url": "about:blank"}, &target)
	var attached struct{ SessionID string }
	b.call("Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &attached)
	b.session = attached.SessionID
	// scripts must not run before the page is loaded
	b.call("Page.enable", nil, nil)
	b.call("Page.navigate", map[string]any{"url": url}, nil)
	for b.run("location.href + document.readyState") != url+"complete" {
		runtime.Gosched()
	}
}

// run runs a script and returns its result as text, waiting if it is a promise.
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

// await waits until a condition holds.
func (b *browser) await(condition string) {
	b.t.Helper()
	b.run(`new Promise(resolve => {
		const look = () => (` + condition + `) ? resolve('') : setTimeout(look, 5)
		look()
	})`)
}

// startExample runs an example, and returns the words of its first line, which ends in
// the addresses that it listens on. It skips the test if that is built with v1.77.0, or if there is no
// browser for the example.
func startExample(t *testing.T, name string, args ...string) (words []string) {
	t.Helper()
	skipOriginal(t)
	chromium(t)
	program(t, "go")
	path := filepath.Join(t.TempDir(), name)
	build := command(t, "go", "build", "-o", path, "github.com/valyala/fasthttp/examples/"+name)
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	cmd := command(t, path, args...)
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
	words = strings.Fields(line)
	if err != nil || len(words) < 4 {
		t.Fatalf("the example says %q, %v", line, err)
	}
	return words
}

// TestChromiumShowsEvents opens the page of the sse example in a browser. The page shows each
// post while the stream stays open.
func TestChromiumShowsEvents(t *testing.T) {
	origin := "http://" + startExample(t, "sse", "-addr", "127.0.0.1:0")[3]
	b := startBrowser(t)
	b.open(origin + "/")

	// the script of the page does not share its EventSource, so the test waits until
	// a post shows
	const shown = `[...document.querySelectorAll('#list li')].map(li => li.textContent)`
	for b.run(`fetch('/events', {method: 'POST', body: 'ready'}).then(r => `+shown+`.includes('ready'))`) != "true" {
		runtime.Gosched()
	}
	for i, event := range []string{"first", "zwei — 二", "two\nlines", "<b>not bold</b>", strings.Repeat("long ", 20_000), "last"} {
		quoted, err := json.Marshal(event)
		if err != nil {
			t.Fatal(err)
		}
		if i%2 == 0 {
			// as the script of the page does
			b.run(`fetch('/events', {method: 'POST', body: ` + string(quoted) + `}).then(r => r.status)`)
		} else {
			b.run(`text.value = ` + string(quoted) + `; document.forms[0].requestSubmit()`)
		}
		b.await(`list.firstChild.textContent === ` + string(quoted))
	}
	// posts are in order, with the latest at the top
	got := b.run(`JSON.stringify(` + shown + `.filter(text => text !== 'ready').map(text => text.slice(0, 20)))`)
	if want := `["last","long long long long ","<b>not bold</b>","two\nlines","zwei — 二","first"]`; got != want {
		t.Errorf("the page shows %s, want %s", got, want)
	}
	if got := b.run(`performance.getEntriesByType('navigation')[0].nextHopProtocol`); got != "http/1.1" {
		t.Errorf("the page came over %s", got)
	}
}

// TestChromiumShowsTheDashboard opens the page of the dashboard example in a browser, in both color
// schemes. The page shows the requests to the service.
func TestChromiumShowsTheDashboard(t *testing.T) {
	words := startExample(t, "dashboard", "-addr", "127.0.0.1:0", "-dashboard", "127.0.0.1:0")
	service, page := "http://"+words[2], "http://"+words[5]
	b := startBrowser(t)
	b.open(page + "/")
	client := new(fasthttp.Client)
	defer client.CloseIdleConnections()
	for _, path := range []string{"/", "/<b>bold", "/fails"} {
		if _, _, err := client.Get(nil, service+path); err != nil {
			t.Fatal(err)
		}
	}
	b.await(`document.querySelectorAll('#latest tr').length === 3 && $('open').textContent === '1'`)
	got := b.run(`JSON.stringify([...document.querySelectorAll('#latest tr')].map(tr => [...tr.cells].slice(0, 3).map(td => td.textContent).join(' ')))`)
	if want := `["GET /fails 500","GET /<b>bold 404","GET / 200"]`; got != want {
		t.Errorf("the page shows %s, want %s", got, want)
	}
	if got := b.run(`$('state').textContent`); got != "live" {
		t.Errorf("the state of the page is %s", got)
	}
	colors := map[string]bool{}
	for _, scheme := range []string{"light", "dark"} {
		b.call("Emulation.setEmulatedMedia", map[string]any{"features": []map[string]string{{"name": "prefers-color-scheme", "value": scheme}}}, nil)
		colors[b.run(`getComputedStyle(document.body).backgroundColor`)] = true
	}
	if len(colors) != 2 {
		t.Errorf("the page has the same color in both schemes: %v", colors)
	}
}

// TestChromiumChats opens the page of the websocket example in two browsers. Both show
// each message, in the order in which the server has received them.
func TestChromiumChats(t *testing.T) {
	origin := "http://" + startExample(t, "websocket", "-addr", "127.0.0.1:0")[3]
	pages := []*browser{startBrowser(t), startBrowser(t)}
	for _, b := range pages {
		b.open(origin + "/")
		b.await(`socket.readyState === WebSocket.OPEN`)
	}
	// a member that receives its own message has joined
	pages[1].run(`socket.send('ready')`)
	pages[1].await(`list.children.length === 1`)
	pages[0].run(`socket.send('ready')`)
	pages[0].await(`list.firstChild?.textContent === 'ready'`)
	pages[1].await(`list.children.length === 2`)
	for i, text := range []string{"first", "zwei — 二", "<b>not bold</b>", strings.Repeat("long ", 800), "last"} {
		quoted, err := json.Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		pages[i%2].run(`text.value = ` + string(quoted) + `; document.forms[0].requestSubmit()`)
		for _, b := range pages {
			b.await(`list.firstChild.textContent === ` + string(quoted))
		}
	}
	for _, b := range pages {
		// messages are in order, with the latest at the top
		got := b.run(`JSON.stringify([...list.children].map(li => li.textContent.slice(0, 20)).filter(text => text !== 'ready'))`)
		if want := `["last","long long long long ","<b>not bold</b>","zwei — 二","first"]`; got != want {
			t.Errorf("the page shows %s, want %s", got, want)
		}
	}
	// a page of another origin must not connect
	pages[0].open("about:blank")
	if got := pages[0].run(`new Promise(resolve => {
		const other = new WebSocket('ws` + strings.TrimPrefix(origin, "http") + `/chat')
		other.onopen = () => resolve('open')
		other.onclose = () => resolve('refused')
	})`); got != "refused" {
		t.Errorf("a page without an origin: %s", got)
	}
	// a message that is too large ends the connection
	pages[1].run(`socket.onclose = e => document.title = 'code ' + e.code; socket.send('a'.repeat(5000))`)
	pages[1].await(`document.title === 'code 1009'`)
}
