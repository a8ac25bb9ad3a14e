// Package files looks up paths in a tree of files, and prepares the content of the
// responses.
//
// Start with Finder: it turns a path into a Node, from its cache or from the tree, and
// a Node into the Content that a client prefers: the file itself, the page of a
// directory, or either in a content coding. The fields of a request decide the form of
// the response: EvalPreconditions and RangeApplies (RFC 9110 section 13), and
// ParseRanges (section 14).
//
// The package knows nothing of requests and responses but the values of their fields.
// Clients choose the paths, so it looks up only results of Name, and stays within an
// os.Root unless the settings allow otherwise.
package files
