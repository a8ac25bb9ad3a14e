//go:build fasthttp_additions

package frameworks

import "github.com/valyala/fasthttp"

// This compiles if the signatures are the ones of this module.
var (
	_ protocolsSetter    = (*fasthttp.Server)(nil)
	_ proxiesSetter      = (*fasthttp.Server)(nil)
	_ responseSentSetter = (*fasthttp.Server)(nil)
	_ bodyModeSetter     = (*fasthttp.RequestConfig)(nil)
	_ clientAddresser    = (*fasthttp.RequestCtx)(nil)
	_ timeoutSetter      = (*fasthttp.Client)(nil)
	_ dialContextSetter  = (*fasthttp.Client)(nil)
)
