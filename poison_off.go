//go:build !fasthttp_poison

package fasthttp

func poisonRequest(*Request)   {}
func poisonResponse(*Response) {}
func poisonURI(*URI)           {}
func poisonArgs(*Args)         {}
func poisonCookie(*Cookie)     {}
