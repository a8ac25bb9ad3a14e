package otelfasthttp

import (
	"github.com/valyala/fasthttp"
	"go.opentelemetry.io/otel/propagation"
)

// Carrier makes the fields of a request a carrier for propagators.
type Carrier struct{ Header *fasthttp.RequestHeader }

var (
	_ propagation.TextMapCarrier = Carrier{}
	_ propagation.ValuesGetter   = Carrier{}
)

// Get returns a copy of the value of a field, or "".
func (c Carrier) Get(key string) string { return string(c.Header.Peek(key)) }

// Values returns copies of the values of all fields with that name.
func (c Carrier) Values(key string) (values []string) {
	all := c.Header.PeekAll(key)
	if len(all) == 0 {
		return nil
	}
	values = make([]string, len(all))
	for i, value := range all {
		values[i] = string(value)
	}
	return values
}

// Set sets a field.
func (c Carrier) Set(key, value string) { c.Header.Set(key, value) }

// Keys returns the names of all fields.
func (c Carrier) Keys() (keys []string) {
	for key := range c.Header.All() {
		keys = append(keys, string(key))
	}
	return keys
}

// written are the fields of a request that a propagator may write.
type written struct {
	names  []string
	values [][]string // of the caller
}

// save remembers the fields that the request has.
func (w *written) save(c Carrier) {
	for i, name := range w.names {
		values := c.Values(name)
		if values == nil {
			continue
		}
		if w.values == nil {
			w.values = make([][]string, len(w.names))
		}
		w.values[i] = values
	}
}

// restore gives the request back the fields that it had, so that it does not name this span in
// another call.
func (w *written) restore(c Carrier) {
	for i, name := range w.names {
		c.Header.Del(name)
		if w.values == nil {
			continue
		}
		for _, value := range w.values[i] {
			c.Header.Add(name, value)
		}
	}
}
