package uri

import (
	"bytes"

	"github.com/valyala/fasthttp/internal/ascii"
)

// Update resolves ref, a reference found at t, and sets t to the result (RFC 3986
// section 5.2). An empty reference leaves t unchanged. asIs is as in AppendPath.
//
// After an error t is as after an error of Parse.
func (t *Text) Update(ref []byte, asIs bool) error {
	if len(ref) == 0 {
		return nil
	}
	t.changes++
	if ascii.HasControl(ref) {
		t.Clear()
		return ErrInvalid
	}
	t.visible = t.visible && ascii.IsVisible(ref)
	colon, found := FindScheme(ref)
	switch {
	case found && IsScheme(ref[:colon]):
		return t.replaceFrom(ref, colon)
	case bytes.HasPrefix(ref, []byte("//")):
		return t.replaceFrom(ref, -1)
	case ref[0] == '#':
		t.Set(Hash, ref[1:])
		return nil
	}
	start := len(t.block)
	switch ref[0] {
	case '/':
		t.block = append(t.block, ref...)
		t.parseTarget(start, start)
	case '?':
		path, original, badEscape, asCame := t.parts[Path], t.parts[Original], t.badEscape, t.asReceived
		t.block = append(t.block, ref...)
		t.parseTarget(start, start)
		t.parts[Path], t.parts[Original], t.badEscape, t.asReceived = path, original, badEscape, asCame
	default:
		t.block = t.AppendPath(t.block, asIs)
		from := start + bytes.LastIndexByte(t.block[start:], '/') + 1
		t.block = append(t.block[:from], ref...)
		t.parseTarget(start, from)
	}
	t.tidy()
	return nil
}

// replaceFrom takes over a reference with an authority, which begins after the
// colon and two slashes. There is no scheme unless it precedes the colon.
func (t *Text) replaceFrom(ref []byte, colon int) error {
	start := len(t.block)
	t.block = append(t.block, ref...)
	if colon > 0 {
		t.takeScheme(span{start, start + colon})
	}
	err := t.parseHierarchy(start + colon + len("://"))
	switch {
	case err == nil:
		t.tidy()
	case !t.badHost:
		t.Clear()
	}
	return err
}
