package files

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"html"
	"strconv"
	"time"

	"github.com/valyala/fasthttp/internal/ascii"
	"github.com/valyala/fasthttp/internal/bytesconv"
	"github.com/valyala/fasthttp/internal/coding"
	"github.com/valyala/fasthttp/internal/httpdate"
	"github.com/valyala/fasthttp/internal/urlencoded"
)

// pageStyle is the whole style of the pages: no scripts, light or dark as the reader
// prefers, and lines that break on small screens.
const pageStyle = `:root{color-scheme:light dark}` +
	`body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}` +
	`h1{font-size:1.25rem;font-weight:600;overflow-wrap:anywhere}` +
	`table{width:100%;border-collapse:collapse}` +
	`th{text-align:left;font-size:.8rem;font-weight:600;opacity:.7}` +
	`th,td{padding:.3rem .75rem .3rem 0;border-bottom:1px solid color-mix(in srgb,currentColor 15%,transparent)}` +
	`td:first-child{overflow-wrap:anywhere}` +
	`.n{text-align:right;white-space:nowrap;font-variant-numeric:tabular-nums}` +
	`time{white-space:nowrap;font-variant-numeric:tabular-nums}` +
	`a{text-decoration:none}a:hover{text-decoration:underline}` +
	`.d{font-weight:600}` +
	`@media(max-width:34rem){th:last-child,td:last-child{display:none}}`

// PagePolicy is the Content-Security-Policy of pages. It allows their style and
// nothing else, so that the names on a page have no effect.
var PagePolicy = func() []byte {
	style := sha256.Sum256([]byte(pageStyle))
	return []byte("default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(style[:]) +
		"'; base-uri 'none'; form-action 'none'")
}()

// appendPage appends the page of a directory. Links are relative to its path,
// which ends in a slash, so they hold wherever the tree is mounted.
func appendPage(dst []byte, title string, isRoot bool, list []dirEntry) []byte {
	dst = append(dst, `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1"><title>Index of `...)
	dst = append(dst, html.EscapeString(title)...)
	dst = append(append(append(dst, `</title><style>`...), pageStyle...), `</style></head><body><main><h1>Index of `...)
	dst = append(dst, html.EscapeString(title)...)
	dst = append(dst, "</h1><table><thead><tr><th scope=\"col\">Name</th><th scope=\"col\" class=\"n\">Size</th><th scope=\"col\">Modified (UTC)</th></tr></thead><tbody>\n"...)
	if !isRoot {
		dst = append(dst, "<tr><td><a class=\"d\" href=\"../\">../</a></td><td class=\"n\">–</td><td></td></tr>\n"...)
	}
	for _, e := range list {
		dst = appendRow(dst, e)
	}
	dst = append(dst, "</tbody></table>"...)
	if len(list) == 0 {
		dst = append(dst, "<p>This directory is empty.</p>"...)
	}
	return append(dst, "</main></body></html>\n"...)
}

func appendRow(dst []byte, e dirEntry) []byte {
	class, slash := "f", ""
	if e.dir {
		class, slash = "d", "/"
	}
	dst = append(append(dst, `<tr><td><a class="`...), class...)
	// without the dot a colon in the name would end a scheme
	dst = append(dst, `" href="./`...)
	dst = append(dst, html.EscapeString(string(urlencoded.AppendPath(nil, bytesconv.Bytes(e.name))))...)
	dst = append(append(dst, slash...), `">`...)
	dst = append(append(dst, html.EscapeString(e.name)...), slash...)
	dst = append(dst, `</a></td><td class="n"`...)
	if e.dir {
		dst = append(dst, ">–"...)
	} else {
		dst = strconv.AppendInt(append(dst, ` title="`...), e.size, 10)
		dst = appendSize(append(dst, ` bytes">`...), e.size)
	}
	dst = append(dst, "</td><td>"...)
	if e.modified.Unix() > 0 {
		utc := e.modified.UTC()
		dst = utc.AppendFormat(append(dst, `<time datetime="`...), time.RFC3339)
		dst = utc.AppendFormat(append(dst, `">`...), "2006-01-02 15:04")
		dst = append(dst, "</time>"...)
	}
	return append(dst, "</td></tr>\n"...)
}

// appendSize appends a size for people, in units of 1024 bytes.
func appendSize(dst []byte, size int64) []byte {
	if size < 1024 {
		return append(strconv.AppendInt(dst, size, 10), " B"...)
	}
	value, unit := float64(size)/1024, 0
	// a value that would be rounded to 1024 needs the next unit
	for value >= 1023.95 {
		value /= 1024
		unit++
	}
	dst = strconv.AppendFloat(dst, value, 'f', 1, 64)
	return append(append(dst, ' ', "KMGTPE"[unit]), "iB"...)
}

// appendListing appends the entries of a page as JSON, in the form of nginx's
// autoindex.
func appendListing(dst []byte, list []dirEntry) []byte {
	type entry struct {
		Name  string `json:"name"`
		Type  string `json:"type"`
		MTime string `json:"mtime,omitempty"`
		Size  *int64 `json:"size,omitempty"`
	}
	entries := make([]entry, len(list))
	for i, e := range list {
		entries[i] = entry{Name: e.name, Type: "file", Size: &e.size}
		if e.dir {
			entries[i].Type, entries[i].Size = "directory", nil
		}
		if e.modified.Unix() > 0 {
			entries[i].MTime = string(httpdate.Append(nil, e.modified))
		}
	}
	text, err := json.Marshal(entries)
	if err != nil {
		// strings and numbers can always be encoded
		panic(err)
	}
	return append(append(dst, text...), '\n')
}

// prefersJSON reports whether an Accept field prefers JSON to a page (RFC 9110
// section 12.5.1). A client that accepts everything gets the page.
func prefersJSON(accept []byte) bool {
	return len(accept) > 0 && quality(accept, "application", "json") > quality(accept, "text", "html")
}

// quality returns the weight of a type in an Accept field: the weight of the most
// specific element that matches it, or coding.WeightNever if none does.
func quality(accept []byte, typ, subtype string) coding.Weight {
	precision, q := 0, coding.WeightNever
	for element := range bytes.SplitSeq(accept, []byte(",")) {
		essence, params, _ := bytes.Cut(element, []byte(";"))
		major, minor, _ := bytes.Cut(ascii.Trim(essence), []byte("/"))
		level := 0
		switch {
		case ascii.EqualFoldString(major, typ) && ascii.EqualFoldString(minor, subtype):
			level = 3
		case ascii.EqualFoldString(major, typ) && string(minor) == "*":
			level = 2
		case string(major) == "*" && string(minor) == "*":
			level = 1
		}
		if w, ok := coding.WeightIn(params); ok && level > precision {
			precision, q = level, w
		}
	}
	return q
}
