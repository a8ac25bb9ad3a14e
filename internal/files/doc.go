// Package files finds what paths stand for in a tree of files, and makes what is
// sent of it.
//
// Start with Finder: it turns a path into a Node, from its cache or from the tree,
// and a Node into the Content that a client likes best: the file itself, the page of
// a directory, or either in a content coding. What a request is answered with is
// decided by its fields: EvalPreconditions and RangeApplies (RFC 9110 section 13),
// and ParseRanges (section 14).
//
// Of requests and responses it knows only the values of their fields. Clients choose
// the paths, so it looks up only what Name returns, and keeps to an os.Root unless the
// settings say otherwise.
package files
