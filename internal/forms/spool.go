package forms

import (
	"mime/multipart"
	"runtime"
	"sync/atomic"
)

// Spooled holds the temporary files of a form. They are removed with the form, or
// when the garbage collector finds all its files unreachable. An unreleased
// request, such as the request of a timed-out handler, must not leave them forever.
type Spooled struct {
	copies   multipart.Form // refers to the same files, but to none of the originals
	left     atomic.Int32   // reachable originals
	cleanups []runtime.Cleanup
}

// Watch returns the files of the form, some of which may be on disk.
func Watch(form *multipart.Form) *Spooled {
	s := &Spooled{}
	for _, files := range form.File {
		for _, fh := range files {
			own := *fh
			if s.copies.File == nil {
				s.copies.File = map[string][]*multipart.FileHeader{}
			}
			s.copies.File[""] = append(s.copies.File[""], &own)
			s.left.Add(1)
		}
	}
	for _, files := range form.File {
		for _, fh := range files {
			s.cleanups = append(s.cleanups, runtime.AddCleanup(fh, (*Spooled).lostOne, s))
		}
	}
	return s
}

// lostOne is called by the garbage collector for each of the originals.
func (s *Spooled) lostOne() {
	if s.left.Add(-1) == 0 {
		_ = s.copies.RemoveAll()
	}
}

// Remove removes the files.
func (s *Spooled) Remove() {
	for _, c := range s.cleanups {
		c.Stop()
	}
	// remaining files are left to whatever cleans the directory of temporary files
	_ = s.copies.RemoveAll()
}
