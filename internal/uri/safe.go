package uri

import (
	"bytes"
	"strconv"
)

// Safe returns a URL that may be wrong as it may stand in a log: without user name and
// password, wherever they are, query and fragment. scheme is how long its scheme is
// with "://", or 0 if it has none.
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

// maxTold is how much of a URL an error holds.
const maxTold = 200

// LacksHost reports whether a URL names no host, and says what it lacks. User name and
// password and the query are left out, as errors end up in logs.
func LacksHost(text []byte) (fault string, lacking bool) {
	url, scheme := Safe(text)
	absolute := scheme > 0
	if absolute && len(url) > scheme && url[scheme] != '/' {
		return "", false
	}
	if len(url) > maxTold {
		url = url[:maxTold] + "..."
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

// IsPath reports whether a reference is a path, and not one with an authority.
func IsPath(ref []byte) bool {
	return bytes.HasPrefix(ref, []byte("/")) && !bytes.HasPrefix(ref, []byte("//"))
}

// cutUser returns what stands before and behind the user information of a URL, which
// need not be where it ought to be, as in "http:/user:pass@host". In a path only what
// has a colon is taken for that.
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
