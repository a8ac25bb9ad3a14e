package http1

import (
	"bytes"

	"github.com/valyala/fasthttp/internal/ascii"
)

// CheckRequest returns an error if the lines of a request are well-formed, but its target
// (RFC 9112 section 3.2) or Host (section 3.2 and RFC 9110 section 7.2) is invalid. b is
// the head.
func (h *Head) CheckRequest(b []byte) error {
	target := textAt(b, h.Target)
	if target[0] == '/' && h.MethodID != MethodConnect {
		if bytes.IndexByte(target, '#') >= 0 {
			return ErrTarget
		}
	} else if err := CheckTarget(textAt(b, h.Method), target); err != nil {
		return err
	}
	host := textAt(b, h.Slots[SlotHost])
	if h.Flags&(HasHost|ManyHosts) == HasHost && isPlainHost(host) {
		return nil
	}
	return h.checkHost(host)
}

// checkHost returns an error unless a request may have the host, or none.
func (h *Head) checkHost(host []byte) error {
	switch {
	case !h.Has(HasHost):
		if h.Minor > 0 {
			return ErrHost
		}
	case h.Has(ManyHosts), !ValidHost(host),
		// no http URI has an empty host (RFC 9110 section 4.2.1)
		len(host) == 0 && h.Minor > 0:
		return ErrHost
	}
	return nil
}

// CheckTarget returns an error unless a request target has one of the four forms of RFC
// 9112 section 3.2, and a form that its method permits. CONNECT may have a path, too:
// package net/rpc sends one, and net/http accepts it.
//
// None of the forms has a fragment. A recipient that drops it and one that treats it as a
// part of the path would disagree about the resource that "/a#/../b" identifies.
func CheckTarget(method, target []byte) error {
	switch {
	case len(target) == 0:
		return ErrEmptyTarget
	case string(method) == "CONNECT" && target[0] != '/':
		if !IsAuthority(target) {
			return ErrTarget
		}
		return nil
	case ascii.IndexByte(target, '#') < len(target):
		return ErrTarget
	case target[0] == '/':
		return nil
	case target[0] == '*':
		if len(target) > 1 || string(method) != "OPTIONS" {
			return ErrTarget
		}
		return nil
	}
	return checkAbsolute(target)
}

// IsAuthority reports whether target is a host and a port, the form that CONNECT
// requires (RFC 9112 section 3.2.3).
func IsAuthority(target []byte) bool {
	colon := bytes.LastIndexByte(target, ':')
	return colon > 0 && colon < len(target)-1 && ValidHost(target)
}

// checkAbsolute returns an error unless the scheme and the authority of an absolute
// URI are valid.
func checkAbsolute(target []byte) error {
	scheme, rest, found := bytes.Cut(target, []byte("://"))
	if !found || len(scheme) == 0 || !ascii.Is(scheme[0], ascii.Alpha) {
		return ErrTarget
	}
	for _, c := range scheme {
		if !ascii.Is(c, ascii.Alpha|ascii.Digit) && c != '+' && c != '-' && c != '.' {
			return ErrTarget
		}
	}
	if end := bytes.IndexAny(rest, "/?"); end >= 0 {
		rest = rest[:end]
	}
	if len(rest) == 0 || !ValidHost(rest) {
		return ErrTarget
	}
	return nil
}
