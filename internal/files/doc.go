// Package files finds what paths stand for in a tree of files, and makes what is
// sent of it.
//
// Start with Finder: it turns a path into a Node, from its cache or from the tree,
// and a Node into the Content that a client likes best: the file itself, the page of
// a directory, or either in a content coding. What a request is answered with is
// decided by its fields: EvalPreconditions and RangeApplies (RFC 9110 section 13),
// and ParseRanges (section 14).
//
// It knows of requests and responses only the values of their fields. What it is
// given was sent by a client, so a path is looked up in no other form than that of
// Name, and a tree of the operating system is an os.Root if its owner does not say
// otherwise.
package files
