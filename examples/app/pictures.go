package main

import (
	"crypto/rand"
	"errors"
	"io"
	"mime/multipart"
	"net/http"
	"os"
	"path/filepath"

	"github.com/valyala/fasthttp"
)

// pictures keeps pictures as files in a directory.
type pictures struct{ dir string }

// extensions has the accepted types. Unlike SVG, none of them can contain scripts.
var extensions = map[string]string{"image/png": ".png", "image/jpeg": ".jpg", "image/gif": ".gif", "image/webp": ".webp"}

// setPicture takes the file "picture" of a form as the picture of a note. The server has
// received all of it, up to maxPicture.
func (a *app) setPicture(c *call) (any, error) {
	id, err := c.noteID()
	if err != nil {
		return nil, err
	}
	file, err := c.http.FormFile("picture")
	if errors.Is(err, fasthttp.ErrNoMultipartForm) || errors.Is(err, fasthttp.ErrMissingFile) {
		return nil, errNotPicture
	}
	if err != nil {
		return nil, errBadForm.because(err)
	}
	name, err := a.pictures.save(file)
	if err != nil {
		return nil, err
	}
	before, after, err := a.store.Update(c.ctx, id, func(n *note) error {
		n.Picture = name
		return c.mayChange(*n)
	})
	if err != nil {
		a.pictures.remove(name)
		return nil, err
	}
	a.pictures.remove(before.Picture)
	a.publish("saved", after)
	return after, nil
}

func (a *app) getPicture(c *call) (any, error) {
	id, err := c.noteID()
	if err != nil {
		return nil, err
	}
	n, err := a.store.Get(c.ctx, id)
	if err != nil {
		return nil, err
	}
	if n.Picture == "" {
		return nil, errNoPicture
	}
	// handles ranges and conditions as well
	c.http.SendFileLiteral(a.pictures.path(n.Picture))
	return nil, nil
}

func (p pictures) path(name string) string { return filepath.Join(p.dir, name) }

// save stores a file, and returns its new name. The name and the type that the client has sent
// are not used.
func (p pictures) save(file *multipart.FileHeader) (string, error) {
	f, err := file.Open()
	if err != nil {
		return "", err
	}
	defer f.Close()
	start := make([]byte, 512)
	n, err := io.ReadFull(f, start)
	if err != nil && err != io.ErrUnexpectedEOF && err != io.EOF {
		return "", err
	}
	extension, ok := extensions[http.DetectContentType(start[:n])]
	if !ok {
		return "", errNotPicture
	}
	name := rand.Text() + extension
	return name, fasthttp.SaveMultipartFile(file, p.path(name))
}

// remove removes a picture; none if name is "". A picture that cannot be removed does no harm.
func (p pictures) remove(name string) {
	if name != "" {
		_ = os.Remove(p.path(name))
	}
}
