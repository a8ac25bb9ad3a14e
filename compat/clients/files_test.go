package clients

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/valyala/fasthttp"
)

// asked records the Range fields of requests for files.
type asked struct {
	mu     sync.Mutex
	ranges []string
}

func (a *asked) note(ctx *fasthttp.RequestCtx) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.ranges = append(a.ranges, string(ctx.Request.Header.Peek("Range")))
}

func (a *asked) all() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return append([]string(nil), a.ranges...)
}

// serves returns a server of the files in root.
func serves(root string, a *asked) func() *fasthttp.Server {
	return func() *fasthttp.Server {
		files := &fasthttp.FS{Root: root, IndexNames: []string{"index.html"}, GenerateIndexPages: true, AcceptByteRange: true, Compress: true, CompressRoot: root + "-copies"}
		h := files.NewRequestHandler()
		return &fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) {
			if a != nil {
				a.note(ctx)
			}
			h(ctx)
		}}
	}
}

// TestCurlResumesADownload has the first half of a file, and lets curl fetch the
// rest. The server does not send the first half again.
func TestCurlResumesADownload(t *testing.T) {
	program(t, "curl")
	content := noise(5<<20 + 3)
	root := filepath.Join(t.TempDir(), "root")
	plant(t, root, map[string][]byte{"a file.bin": content})
	for _, have := range []int{1, 70_000, 5 << 20} {
		eachEngine(t, serves(root, nil), func(t *testing.T, origin string) {
			got := source(t, content[:have])
			written := curl(t, "--continue-at", "-", "--output", got, "--write-out", "%{http_code} %{size_download}", origin+"/a%20file.bin")
			if want := fmt.Sprint(206, len(content)-have); strings.ReplaceAll(written, " ", "") != strings.ReplaceAll(want, " ", "") {
				t.Errorf("from %d on: status and size are %s, want %s", have, written, want)
			}
			if b, err := os.ReadFile(got); err != nil || !bytes.Equal(b, content) {
				t.Errorf("from %d on: %d bytes that differ, %v", have, len(b), err)
			}
		})
	}
}

// TestCurlResumesWhatIsWhole requests a range after the end of a file.
func TestCurlResumesWhatIsWhole(t *testing.T) {
	program(t, "curl")
	content := noise(1000)
	root := filepath.Join(t.TempDir(), "root")
	plant(t, root, map[string][]byte{"file": content})
	eachEngine(t, serves(root, nil), func(t *testing.T, origin string) {
		got := source(t, content)
		// whether this is an error depends on the version of curl
		cmd := command(t, program(t, "curl"), "--silent", "--noproxy", "*", "--continue-at", "-", "--output", got, "--write-out", "%{http_code}", origin+"/file")
		if out, _ := cmd.Output(); string(out) != "416" {
			t.Errorf("the status is %s", out)
		}
		if b, err := os.ReadFile(got); err != nil || !bytes.Equal(b, content) {
			t.Errorf("%d bytes that differ, %v", len(b), err)
		}
	})
}

// plant writes files below root.
func plant(t *testing.T, root string, files map[string][]byte) {
	t.Helper()
	for name, content := range files {
		name = filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// manyFiles returns 5,000 files with all kinds of names and sizes. All are in
// folders, and no name is one that wget gives to the pages that it saves. wget
// decodes twice, so no name looks like an escape.
func manyFiles() map[string][]byte {
	files := map[string][]byte{}
	random := noise(300_000)
	names := []string{"plain.txt", "a space", "100% sure", "percent%", "ques?tion", "ha#sh", "plus+and&", "semi;colon", "umläut.html", "日本", "'quote'", `"quotes"`, "<tag>", "colon:80", "tilde~", "[x]", "{x}", "a=b", "comma,", "..dots.."}
	for i := range 5000 {
		size := i * 7
		if i%100 == 0 {
			size = i * 60
		}
		folder := fmt.Sprintf("folder %d/%d/", i/500, i/50)
		files[fmt.Sprintf("%s%d %s", folder, i, names[i%len(names)])] = random[:size]
	}
	return files
}

// TestWgetMirrorsATree lets wget follow the links of index pages.
func TestWgetMirrorsATree(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows does not take the names")
	}
	path := program(t, "wget")
	if testing.Short() {
		t.Skip("5,000 files take their time")
	}
	files := manyFiles()
	root := filepath.Join(t.TempDir(), "root")
	plant(t, root, files)
	eachEngine(t, serves(root, nil), func(t *testing.T, origin string) {
		got := t.TempDir()
		cmd := command(t, path, "--recursive", "--level", "inf", "--no-host-directories", "--no-parent", "--no-verbose", "--no-config",
			"--execute", "robots=off", "--local-encoding=UTF-8", "--remote-encoding=UTF-8",
			"--restrict-file-names=nocontrol", "--directory-prefix", got, origin+"/")
		cmd.Env = append(cmd.Env, "LC_ALL=C.UTF-8")
		output(t, cmd)
		found := 0
		err := filepath.WalkDir(got, func(name string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || entry.Name() == "index.html" {
				return err
			}
			found++
			rel, err := filepath.Rel(got, name)
			if err != nil {
				return err
			}
			content, err := os.ReadFile(name)
			if want, ok := files[filepath.ToSlash(rel)]; !ok || !bytes.Equal(content, want) {
				t.Errorf("%q: %d bytes, want %d; known %v", rel, len(content), len(want), ok)
			}
			return err
		})
		if err != nil || found != len(files) {
			t.Errorf("%d files, want %d, %v", found, len(files), err)
		}
	})
}

// appearance has the colours of a page.
type appearance struct{ background, text string }

func (b *browser) appearance(scheme string) appearance {
	b.t.Helper()
	b.call("Emulation.setEmulatedMedia", map[string]any{"features": []map[string]any{{"name": "prefers-color-scheme", "value": scheme}}}, nil)
	const style = `{ const canvas = document.createElement('canvas').getContext('2d', {willReadFrequently: true});
		const of = name => getComputedStyle(document.documentElement)[name];
		const body = name => getComputedStyle(document.body)[name]; `
	return appearance{
		b.run(style + `const c = body('backgroundColor'); const s = c === 'rgba(0, 0, 0, 0)' ? 'Canvas' : c;
			const probe = document.createElement('div'); probe.style.background = s; document.body.append(probe);
			const v = getComputedStyle(probe).backgroundColor; probe.remove(); v }`),
		b.run(style + `body('color') }`),
	}
}

// brightness returns the brightness of a colour as the browser writes it, from 0 to
// 1.
func brightness(t *testing.T, color string) float64 {
	t.Helper()
	var r, g, b float64
	if _, err := fmt.Sscanf(strings.Replace(color, "rgba", "rgb", 1), "rgb(%f, %f, %f", &r, &g, &b); err != nil {
		t.Fatalf("color %q: %v", color, err)
	}
	return (0.2126*r + 0.7152*g + 0.0722*b) / 255
}

// picture saves a picture of the page in the folder of go test -artifacts.
func (b *browser) picture(name string) {
	b.t.Helper()
	var shot struct{ Data string }
	b.call("Page.captureScreenshot", map[string]any{"format": "png"}, &shot)
	png, err := base64.StdEncoding.DecodeString(shot.Data)
	if err != nil || len(png) < 1000 {
		b.t.Fatalf("the picture has %d bytes, %v", len(png), err)
	}
	if err := os.WriteFile(filepath.Join(b.t.ArtifactDir(), name), png, 0o600); err != nil {
		b.t.Fatal(err)
	}
}

// TestChromiumShowsAnIndexPage opens the page of a directory, follows its links, and
// downloads a file.
func TestChromiumShowsAnIndexPage(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows does not take the names")
	}
	skipOriginal(t)
	program(t, "chromium", "chromium-browser", "google-chrome")
	root := filepath.Join(t.TempDir(), "root")
	content := noise(3 << 20)
	plant(t, root, map[string][]byte{
		"folder/inner.txt": []byte("inner"), "<b>bold & \"quoted\".txt": []byte("bold"), "100%.txt": []byte("percent"),
		"download.bin": content, "a?b#c.txt": []byte("marks"), "日本語.txt": []byte("names"), "empty": nil,
	})
	eachEngine(t, serves(root, nil), func(t *testing.T, origin string) {
		b := startBrowser(t)
		b.open(origin + "/")
		const names = `JSON.stringify([...document.querySelectorAll('a')].map(a => a.textContent.trim()))`
		shown := b.run(names)
		for _, name := range []string{"folder/", `<b>bold & \"quoted\".txt`, "100%.txt", "download.bin", "a?b#c.txt", "日本語.txt", "empty"} {
			if !strings.Contains(shown, `"`+name+`"`) {
				t.Errorf("no link %s among %s", name, shown)
			}
		}
		if n := b.run(`document.querySelectorAll('b, script').length`); n != "0" {
			t.Errorf("%s elements were made of names", n)
		}
		light, dark := b.appearance("light"), b.appearance("dark")
		b.picture("dark.png")
		b.appearance("light")
		b.picture("light.png")
		for _, c := range []struct {
			name string
			appearance
			less float64
		}{{"light", light, 1}, {"dark", dark, -1}} {
			if d := brightness(t, c.background) - brightness(t, c.text); d*c.less < 0.5 {
				t.Errorf("%s: %s on %s", c.name, c.text, c.background)
			}
		}
		// every link has the right target; the page itself must fetch nothing
		b.run("window.isOld = 'yes'")
		b.call("Page.setBypassCSP", map[string]any{"enabled": true}, nil)
		b.call("Page.reload", nil, nil)
		for b.run("window.isOld + document.readyState") != "undefinedcomplete" {
			runtime.Gosched()
		}
		const fetched = `Promise.all([...document.querySelectorAll('a')].filter(a => !a.textContent.includes('/')).map(a => fetch(a.href).then(r => r.text()))).then(t => JSON.stringify(t.filter(s => s.length < 10).sort()))`
		if got := b.run(fetched); got != `["","bold","marks","names","percent"]` {
			t.Errorf("the links lead to %s", got)
		}

		folder := t.TempDir()
		b.call("Page.setDownloadBehavior", map[string]any{"behavior": "allow", "downloadPath": folder}, nil)
		b.run(`{ const a = [...document.querySelectorAll('a')].find(a => a.textContent.trim() === 'download.bin'); a.click(); 'clicked' }`)
		for file := filepath.Join(folder, "download.bin"); ; runtime.Gosched() {
			// run fails the test if the browser does not respond, and so ends the
			// loop
			b.run("1")
			if got, err := os.ReadFile(file); err == nil && len(got) == len(content) {
				if !bytes.Equal(got, content) {
					t.Error("the download differs")
				}
				break
			}
		}
	})
}

// tone returns a WAV file of some seconds. Players read its head, and then the part
// that they play, as with a film.
func tone(seconds int) []byte {
	const rate, frame = 44100, 4
	size := seconds * rate * frame
	b := make([]byte, 0, 44+size)
	b = append(b, "RIFF"...)
	b = binary.LittleEndian.AppendUint32(b, uint32(36+size))
	b = append(b, "WAVEfmt "...)
	b = binary.LittleEndian.AppendUint32(b, 16)
	b = binary.LittleEndian.AppendUint16(b, 1)
	b = binary.LittleEndian.AppendUint16(b, 2)
	b = binary.LittleEndian.AppendUint32(b, rate)
	b = binary.LittleEndian.AppendUint32(b, rate*frame)
	b = binary.LittleEndian.AppendUint16(b, frame)
	b = binary.LittleEndian.AppendUint16(b, 16)
	b = append(b, "data"...)
	b = binary.LittleEndian.AppendUint32(b, uint32(size))
	for i := range seconds * rate {
		v := uint16(int16(3000 * math.Sin(float64(i)/20)))
		b = binary.LittleEndian.AppendUint16(binary.LittleEndian.AppendUint16(b, v), v)
	}
	return b
}

// TestChromiumSeeks lets a video element jump to the end of a file. It must not
// fetch all bytes before that.
func TestChromiumSeeks(t *testing.T) {
	skipOriginal(t)
	program(t, "chromium", "chromium-browser", "google-chrome")
	const seconds, target = 600, 590
	content := tone(seconds)
	root := filepath.Join(t.TempDir(), "root")
	plant(t, root, map[string][]byte{"film.wav": content, "index.html": []byte("<!doctype html><title>film</title><video id=v muted preload=metadata src=film.wav></video>")})
	var a asked
	eachEngine(t, serves(root, &a), func(t *testing.T, origin string) {
		a.ranges = nil
		b := startBrowser(t)
		b.open(origin + "/")
		const loaded = `new Promise((resolve, reject) => { v.onerror = () => reject(v.error.message); const look = () => v.readyState >= 1 ? resolve(Math.round(v.duration)) : setTimeout(look, 5); look() })`
		if got := b.run(loaded); got != fmt.Sprint(seconds) {
			t.Fatalf("the film takes %s seconds, want %d", got, seconds)
		}
		const seek = `new Promise((resolve, reject) => { v.onerror = () => reject(v.error.message); v.onseeked = () => resolve(Math.round(v.currentTime)); v.currentTime = %d })`
		for _, to := range []int{target, 2, 300} {
			if got := b.run(fmt.Sprintf(seek, to)); got != fmt.Sprint(to) {
				t.Errorf("at %s, want %d", got, to)
			}
		}
		// it continues to play from there
		if got := b.run(`v.play().then(() => new Promise(resolve => { const look = () => v.currentTime > 300.2 ? resolve('playing') : setTimeout(look, 5); look() }))`); got != "playing" {
			t.Error(got)
		}
		far := false
		for _, field := range a.all() {
			var from int
			if n, _ := fmt.Sscanf(field, "bytes=%d-", &from); n == 1 && from > len(content)/2 {
				far = true
			}
		}
		// the server would wait for responses that the browser does not read
		b.call("Page.navigate", map[string]any{"url": "about:blank"}, nil)
		if !far {
			t.Errorf("nothing from the second half was asked for: %q", a.all())
		}
	})
}
