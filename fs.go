package fasthttp

import (
	"io/fs"
	"time"

	"github.com/valyala/fasthttp/internal/coding"
	"github.com/valyala/fasthttp/internal/files"
)

// FSHandlerCacheDuration is FS.CacheDuration where that is not set.
const FSHandlerCacheDuration = 10 * time.Second

// FSCompressedFileSuffix is what the names of copies in gzip end in where FS
// says nothing else.
const FSCompressedFileSuffix = ".fasthttp.gz"

// FSCompressedFileSuffixes is what the names of compressed copies end in where
// FS says nothing else, by content coding. It is read when a request handler is
// made, and must not be changed any more from then on.
var FSCompressedFileSuffixes = map[string]string{
	"gzip": ".fasthttp.gz",
	"br":   ".fasthttp.br",
	"zstd": ".fasthttp.zst",
}

// FS says how files are served. NewRequestHandler makes a RequestHandler of it.
//
// GET and HEAD are answered, with the conditions of RFC 9110 section 13 and,
// with AcceptByteRange, the ranges of section 14; other methods get 405 for a
// file that exists. A directory without a slash at the end of its path is
// redirected to the path with one; the path of a file with a slash at its end is
// not found. Neither is what is no regular file, such as a pipe or a device: it is
// not even opened. The first path that is not found in a Root that is not there
// has that logged, once for each handler.
//
// An FS must not be copied, nor be changed once a handler was made of it.
type FS struct {
	_ noCopy

	// FS is where files are from, such as an embed.FS; nil for Root in the file
	// system of the operating system.
	FS fs.FS

	// PathRewrite gives the path to look up for a request; nil for that of the
	// request.
	PathRewrite PathRewriteFunc

	// PathNotFound answers requests for which there is no file; nil for a 404
	// that says "Cannot open requested path".
	PathNotFound RequestHandler

	// CompressedFileSuffixes is what the names of compressed copies end in, by
	// content coding: "gzip", "br" and "zstd". FSCompressedFileSuffixes stands
	// in for those that are missing.
	CompressedFileSuffixes map[string]string

	// CleanStop, if it is set, makes the handler let go of everything it has
	// cached, open files among them, when the channel is closed. It must not be
	// closed before the handler has served its last request.
	//
	// Without it the same happens bit by bit, CacheDuration after the last
	// request.
	CleanStop chan struct{}

	// Root is the directory to serve; within FS, if that is set. The working
	// directory, or all of FS, by default. It may also be a single file, which
	// is served for the path "/", when the handler is made.
	//
	// Symbolic links in it are followed as long as they are relative and stay
	// inside; see AllowSymlinksOutsideRoot. Root itself may be one.
	Root string

	// CompressRoot is the directory for compressed copies, which is made where
	// it is missing; Root by default, so that copies lie beside the files.
	//
	// Copies stay inside of it as files do inside of Root.
	CompressRoot string

	// CompressedFileSuffix is what the names of copies in gzip end in, where
	// CompressedFileSuffixes does not say; FSCompressedFileSuffix by default.
	CompressedFileSuffix string

	// IndexNames are the names of files to serve for a directory, of which the
	// first that is there is taken. None by default.
	IndexNames []string

	// ContentTypes are the media types of files by the extension of their names,
	// such as ".glb", in any case; that of names without one is "". They come before
	// those that are known otherwise.
	ContentTypes map[string]string

	// CompressTypes are the media types of files that Compress is for, in the
	// form of Compressor.Types; those of DefaultCompressTypes by default.
	CompressTypes []string

	// CacheControl is the Cache-Control field of responses with a file or a page,
	// 304 among them, such as "public, max-age=3600"; none by default. One that is
	// set already stays.
	CacheControl string

	// CacheDuration is how long a file is served as it was found before it is
	// looked at again, and how long it is kept without being asked for;
	// FSHandlerCacheDuration by default.
	//
	// At most 4096 files are kept: those of up to 64 KiB in memory, up to 64 MiB
	// in all, larger ones as open files.
	CacheDuration time.Duration

	// AllowEmptyRoot makes an empty Root stand for no directory at all, so that
	// paths are absolute ones; on Windows they begin with a drive.
	AllowEmptyRoot bool

	// AllowSymlinksOutsideRoot makes symbolic links be followed wherever they
	// lead, in Root and in CompressRoot.
	//
	// Otherwise files are opened with os.Root: what lies behind an absolute link
	// or one that leads outside is not found. A Root that is a whole volume,
	// such as "/", confines nothing, and neither does this package confine an FS.
	AllowSymlinksOutsideRoot bool

	// AllowHiddenFiles makes files be served and listed as any others of which a
	// segment of the path begins with a dot, such as .git and .env.
	//
	// Otherwise they are not found, and not listed either. Below a segment that is
	// ".well-known" (RFC 8615) files are found in any case, and so are all files
	// if AllowEmptyRoot makes the application name them with their whole paths.
	AllowHiddenFiles bool

	// CompressBrotli makes Compress use brotli, too.
	CompressBrotli bool

	// CompressZstd makes Compress use zstd, too.
	CompressZstd bool

	// GenerateIndexPages makes a page that lists what is in a directory, for
	// directories without an index file. Clients that prefer application/json
	// get a list of objects with name, type, mtime and size. Such a page takes
	// some milliseconds for each thousand files; it is kept for CacheDuration.
	//
	// Without it such a directory is answered with 403.
	GenerateIndexPages bool

	// Compress makes files be sent compressed to clients that accept it, in the
	// coding that they like best; Vary says so in each response.
	//
	// A copy is made when the first client asks by GET, of files of 128 bytes to
	// 64 MiB whose type is one of CompressTypes. It is kept in CompressRoot, with
	// a suffix, until the size or the time of the original changes. It ends in a few
	// bytes that tell which those were; they are not sent. Copies are neither found
	// by their own names nor listed, and are removed when it is noticed that the
	// original is gone. Names that end in .fasthttp.gz, .fasthttp.br or
	// .fasthttp.zst, with .tmp behind that or without, stand for copies in any tree.
	//
	// Where copies cannot be written, and for files of FS, they are kept in memory
	// if the original has no more than 8 MiB.
	Compress bool

	// Precompressed makes a file be sent in the place of another one that is named
	// as it is with .gz, .br or .zst behind and is not older, to clients that accept
	// that coding. So whoever can put files into the tree decides what the other
	// path is answered with. It does not need Compress, which has such a file come
	// before a copy.
	Precompressed bool

	// AcceptByteRange makes Range fields be answered with the parts that they
	// ask for, up to 10 of them; parts are never compressed.
	AcceptByteRange bool

	// GenerateETag makes responses carry a weak entity tag, derived from the
	// time of the last change and the size. Files of which that time is not
	// known, as those of embed.FS, get none.
	GenerateETag bool

	// StrongETag makes responses carry a strong entity tag, derived from the
	// content, so that If-Range can go by it, and servers with the same files have
	// the same tags. A file is read for that when it is looked up, so it is best
	// not to be used with SkipCache; files must be replaced rather than written to.
	// Those of more than 64 MiB get the tag of GenerateETag.
	StrongETag bool

	// NoSniff makes responses with a file carry "X-Content-Type-Options: nosniff":
	// browsers take the file for what Content-Type says. Pages that list a
	// directory have it in any case, and a Content-Security-Policy that forbids
	// everything but their style.
	NoSniff bool

	// SkipCache makes every request open its file anew. What was compressed in
	// memory is kept nonetheless, by its content, and up to 32 MiB of it.
	SkipCache bool
}

// NewRequestHandler returns a handler that serves files as fs says. It keeps
// files open between requests, so the limit for open files of the process has to
// leave room for them, up to 1024.
//
// Handlers share nothing, so it is best to make one of an FS and to keep it.
func (fs *FS) NewRequestHandler() RequestHandler {
	h := newFileHandler(fs, fs.settings())
	if h.finder.IsCaching() && fs.CleanStop != nil {
		go func(stop <-chan struct{}) {
			<-stop
			h.finder.Clear()
		}(fs.CleanStop)
	}
	return h.handle
}

// FSHandler returns a handler for the files in root, with index.html as index
// file, index pages for directories without one, and byte ranges. The first
// stripSlashes segments of paths are taken off; see NewPathSlashesStripper.
//
// It is best to make one handler for a root and to keep it.
func FSHandler(root string, stripSlashes int) RequestHandler {
	fs := &FS{Root: root, IndexNames: []string{"index.html"}, GenerateIndexPages: true, AcceptByteRange: true}
	if stripSlashes > 0 {
		fs.PathRewrite = NewPathSlashesStripper(stripSlashes)
	}
	return fs.NewRequestHandler()
}

// settings returns what fs says of the files that are found.
func (fs *FS) settings() *files.Settings {
	s := &files.Settings{
		FS:                       fs.FS,
		Root:                     fs.Root,
		AllowEmptyRoot:           fs.AllowEmptyRoot,
		AllowSymlinksOutsideRoot: fs.AllowSymlinksOutsideRoot,
		IndexNames:               fs.IndexNames,
		GenerateIndexPages:       fs.GenerateIndexPages,
		ContentTypes:             fs.ContentTypes,
		TTL:                      fs.CacheDuration,
		SkipCache:                fs.SkipCache,
		FindHidden:               fs.AllowHiddenFiles || fs.FS == nil && fs.Root == "" && fs.AllowEmptyRoot,
		ListHidden:               fs.AllowHiddenFiles,
		Precompressed:            fs.Precompressed,
		CompressRoot:             fs.CompressRoot,
		CompressTypes:            fs.CompressTypes,
	}
	if s.TTL <= 0 {
		s.TTL = FSHandlerCacheDuration
	}
	switch {
	case fs.StrongETag:
		s.Tags = files.StrongTags
	case fs.GenerateETag:
		s.Tags = files.WeakTags
	}
	if fs.Compress {
		fs.setCodings(s)
	}
	return s
}

// setCodings sets the codings in which files are encoded, and the suffixes of the
// copies.
func (fs *FS) setCodings(s *files.Settings) {
	s.Codings = coding.SetOf(coding.Gzip)
	if fs.CompressBrotli {
		s.Codings |= coding.SetOf(coding.Brotli)
	}
	if fs.CompressZstd {
		s.Codings |= coding.SetOf(coding.Zstd)
	}
	for c := range coding.Count {
		s.Suffixes[c] = FSCompressedFileSuffixes[c.String()]
		if c == coding.Gzip && fs.CompressedFileSuffix != "" {
			s.Suffixes[c] = fs.CompressedFileSuffix
		}
		if own := fs.CompressedFileSuffixes[c.String()]; own != "" {
			s.Suffixes[c] = own
		}
	}
}

// CacheKind has no use: nothing takes or returns one.
//
// Deprecated: it is there for programs that name the type.
type CacheKind uint8
