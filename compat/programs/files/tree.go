package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// planted is when all files were last modified.
var planted = time.Date(2024, 5, 6, 7, 8, 9, 0, time.UTC)

const plantedText = "Mon, 06 May 2024 07:08:09 GMT"

var files = map[string]string{
	"index.html":             "<p>home</p>",
	"hello.txt":              "hello, world\n",
	"empty.txt":              "",
	"digits.txt":             "0123456789",
	"long.txt":               strings.Repeat("all work and no play makes a dull text. ", 1500),
	"image.png":              "\x89PNG\r\n\x1a\n not really",
	"style.css":              "body { color: teal }",
	"data.json":              `{"a": 1}`,
	"page.html":              "<p>page</p>",
	"noext":                  "no extension",
	"unknown.zzz":            "what may this be",
	"with space.txt":         "space",
	"percent%41.txt":         "percent",
	"plus+.txt":              "plus",
	"ünï.txt":                "umlauts",
	".hidden":                "hidden",
	"..dots":                 "dots",
	"sub/index.html":         "<p>sub</p>",
	"sub/page.html":          "<p>sub page</p>",
	"list/a.txt":             "a",
	"list/b.txt":             "bb",
	"list/deep/c.txt":        "ccc",
	"list/<i>&\"'.txt":       "markup",
	"noindex/only.txt":       "only",
	"example.com/x.txt":      "of the virtual host",
	"../outside/secret.txt":  "secret",
	"../rootsibling/too.txt": "sibling",
}

var links = map[string]string{
	"inside.txt":  "hello.txt",
	"outside.txt": "../outside/secret.txt",
	"outdir":      "../outside",
	"subdir":      "sub",
	"dangling":    "nowhere",
	"loop":        "loop",
}

// plant makes the tree below base and returns the root to serve.
func plant(base string) (string, error) {
	root := filepath.Join(base, "root")
	for name, text := range files {
		path := filepath.Join(root, filepath.FromSlash(name))
		err := errors.Join(
			os.MkdirAll(filepath.Dir(path), 0o755),
			os.WriteFile(path, []byte(text), 0o644),
			os.Chtimes(path, planted, planted),
		)
		if err != nil {
			return "", err
		}
	}
	for name, target := range links {
		if err := os.Symlink(target, filepath.Join(root, name)); err != nil {
			return "", err
		}
	}
	return root, nil
}
