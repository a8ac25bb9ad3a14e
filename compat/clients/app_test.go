package clients

import (
	"bytes"
	"crypto/tls"
	"net/http"
	"net/http/cookiejar"
	"testing"
)

// TestChromiumUsesTheApp opens the page of the app example in a browser, by HTTP/2: a user
// logs in, posts a note with a picture, sees another user's note at once, removes one, and
// logs out.
func TestChromiumUsesTheApp(t *testing.T) {
	origin := "https://" + startExample(t, "app", "-addr", "127.0.0.1:0", "-admin", "127.0.0.1:0")[3]
	b := startBrowser(t, "--ignore-certificate-errors")
	b.open(origin + "/")

	b.await(`!login.hidden && add.hidden`)
	b.run(`login.elements.name.value = 'ada'; login.requestSubmit()`)
	b.await(`login.hidden && !add.hidden && document.getElementById('name').textContent === 'ada'`)

	b.run(`add.elements.text.value = '<b>not bold</b>'; add.requestSubmit()`)
	b.await(`notes.children.length === 1 && notes.innerText.includes('<b>not bold</b>')`)

	b.run(`new Promise(resolve => {
		const canvas = document.createElement('canvas')
		canvas.width = canvas.height = 8
		canvas.toBlob(blob => {
			const files = new DataTransfer()
			files.items.add(new File([blob], 'picture.png'))
			add.elements.picture.files = files.files
			add.elements.text.value = 'with a picture'
			add.requestSubmit()
			resolve('')
		})
	})`)
	b.await(`document.querySelector('#note2 img')?.naturalWidth === 8`)

	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, ForceAttemptHTTP2: true}
	defer transport.CloseIdleConnections()
	bob := &http.Client{Transport: transport, Jar: jar}
	post(t, bob, origin+"/api/session", `{"name":"bob"}`)
	post(t, bob, origin+"/api/notes", `{"text":"from elsewhere"}`)
	b.await(`notes.children.length === 3 && notes.firstChild.innerText.includes('from elsewhere')`)
	if got := b.run(`document.querySelectorAll('#notes button').length`); got != "2" {
		t.Errorf("ada may remove %s notes", got)
	}

	b.run(`document.querySelector('#note1 button').click()`)
	b.await(`notes.children.length === 2 && document.getElementById('note1') === null`)
	if got := b.run(`error.textContent + performance.getEntriesByType('navigation')[0].nextHopProtocol + getComputedStyle(notes).listStyleType`); got != "h2none" {
		t.Errorf("error, protocol and style are %q", got)
	}

	b.run(`logout.requestSubmit()`)
	b.await(`!login.hidden && add.hidden && notes.children.length === 0`)
	b.run(`login.elements.name.value = 'ada'; login.requestSubmit()`)
	b.await(`notes.children.length === 2`)
}

// post posts JSON, which must be accepted.
func post(t *testing.T, client *http.Client, url, body string) {
	t.Helper()
	resp, err := client.Post(url, "application/json", bytes.NewReader([]byte(body)))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusCreated {
		t.Fatalf("%s: %s", url, resp.Status)
	}
}
