//go:build !fasthttp_poison

package fasthttp

func poisonURI(*URI)       {}
func poisonArgs(*Args)     {}
func poisonCookie(*Cookie) {}
