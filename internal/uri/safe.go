package uri

import (
	"bytes"
	"strconv"
)

// Safe returns a URL, which may be malformed, in a form for logs: without user name
// and password, wherever they are, query and fragment. scheme is the length of its
// scheme with "://", or 0 if it has none.
func Safe(text []byte) (safe string, scheme int) {
	if end := bytes.IndexAny(text, "?#"); end >= 0 {
		text = text[:end]
	}
	if colon, absolute := FindScheme(text); absolute {
		scheme = colon + len("://")
	}
	before, behind := cutUser(text[scheme:], IsPath(text))
	return string(text[:scheme]) + string(before) + string(behind), scheme
}

// maxQuoted is the largest part of a URL that an error quotes.
const maxQuoted = 200

// LacksHost reports whether a URL has no host. fault names the missing parts,
// without the user name, the password and the query of the URL, since errors are often
// logged.
func LacksHost(text []byte) (fault string, lacking bool) {
	url, scheme := Safe(text)
	absolute := scheme > 0
	if absolute && len(url) > scheme && url[scheme] != '/' {
		return "", false
	}
	if len(url) > maxQuoted {
		url = url[:maxQuoted] + "..."
	}
	lacks := "no scheme: it does not begin with http:// or https://"
	switch {
	case absolute:
		lacks = "no host"
	case IsPath(text):
		lacks = "neither scheme nor host"
	}
	return strconv.Quote(url) + " has " + lacks, true
}

// IsPath reports whether a reference is a path, without an authority.
func IsPath(ref []byte) bool {
	return bytes.HasPrefix(ref, []byte("/")) && !bytes.HasPrefix(ref, []byte("//"))
}

// cutUser returns the text before and after the user information of a URL, which may
// be in the wrong place, as in "http:/user:pass@host". In a path only text with a
// colon counts as user information.
func cutUser(url []byte, path bool) (before, behind []byte) {
	at := bytes.IndexByte(url, '@')
	if at < 0 {
		return nil, url
	}
	segment, _, _ := bytes.Cut(url[at:], []byte("/"))
	at += bytes.LastIndexByte(segment, '@')
	user := url[:at]
	if colon := bytes.LastIndexByte(user, ':'); colon >= 0 {
		user = user[:colon]
	} else if path {
		return nil, url
	}
	return url[:bytes.LastIndexByte(user, '/')+1], url[at+1:]
}
